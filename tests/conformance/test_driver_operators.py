"""Launches as operators on every driver: wave::launch, operators of one kernel, torch.compile."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import torch
from conformance_support import Driver

import wave_runtime

pytestmark = pytest.mark.filterwarnings("default")  # Inductor has advice for each GPU.
_serial = itertools.count()


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def add(module: wave_runtime.Module) -> wave_runtime.Kernel:
    return module["vector_add"]


def test_generic_operator(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, b, c = driver.randn(500), driver.randn(500), driver.zeros(500, torch.float32)
    torch.ops.wave.launch(add.handle, [a, b], [c], [500], [], [2], [256])
    assert torch.equal(c, a + b)


def test_opcheck_of_the_generic_operator(driver: Driver, add: wave_runtime.Kernel) -> None:
    a, b, c = driver.randn(500), driver.randn(500), driver.zeros(500, torch.float32)
    torch.library.opcheck(torch.ops.wave.launch.default, (add.handle, [a, b], [c], [500], [], [2], [256]))


def test_opcheck_of_an_operator_of_one_kernel(driver: Driver, add: wave_runtime.Kernel) -> None:
    name = f"conformance::add_{next(_serial)}"  # operators are for good
    operator = add.as_operator(name, block=256)
    assert str(operator._schema) == (
        f"{name}(Tensor a, Tensor b, Tensor(a2!) c, SymInt n, SymInt grid_x, SymInt grid_y=1, SymInt grid_z=1) -> ()"
    )
    a, b, c = driver.randn(500), driver.randn(500), driver.zeros(500, torch.float32)
    operator(a, b, c, 500, 2)
    assert torch.equal(c, a + b)
    torch.library.opcheck(operator, (a, b, c, 500, 2))
    with pytest.raises(ValueError, match=f"there is an operator {name} already"):
        add.as_operator(name, block=256)
    with pytest.raises(ValueError, match='expected a name "namespace::name", given "add"'):
        add.as_operator("add", block=256)


def test_structs_take_the_generic_operator(driver: Driver, module: wave_runtime.Module) -> None:
    message = r"argument 1 'large' \(bytes\[1600\]\): operators of one kernel take no structs"
    with pytest.raises(ValueError, match=message):
        module["copy_large"].as_operator("conformance::large", block=64)


@pytest.mark.parametrize("dynamic", [False, True])
def test_fullgraph(driver: Driver, add: wave_runtime.Kernel, dynamic: bool) -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(a)
        add(a, b, out, a.shape[0], grid=(a.shape[0] + 255) // 256, block=256)
        return out + 1

    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    for n in (1000, 37, 600):
        a, b = driver.randn(n), driver.randn(n)
        assert torch.equal(compiled(a, b), a + b + 1)


def test_launch_options_in_compiled_code(driver: Driver, module: wave_runtime.Module) -> None:
    def function(a: torch.Tensor) -> torch.Tensor:
        total, arrived, out = a.new_zeros(1), a.new_zeros(1), torch.empty_like(a)
        workgroups = a.shape[0]
        kernel(a, total, arrived, out, workgroups, grid=workgroups, block=64, cooperative=True)
        return out

    kernel = module["sum_over_grid"]
    compiled = torch.compile(function, fullgraph=True)
    assert compiled(driver.ints(*range(8))).tolist() == [28] * 8


def test_a_training_step(driver: Driver, add: wave_runtime.Kernel) -> None:
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(a)
            add(a, b, out, a.numel(), grid=-(-a.numel() // 256), block=256)
            return out

        @staticmethod
        def backward(ctx: object, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return gradients[0], gradients[0]

    a = driver.randn(300).requires_grad_()
    (Add.apply(a, a) * torch.arange(300, device=driver.device)).sum().backward()  # type: ignore[no-untyped-call]
    assert a.grad is not None
    assert torch.equal(a.grad, 2 * torch.arange(300.0, device=driver.device))


def test_pickled_kernels(driver: Driver) -> None:
    import copy
    import pickle

    kernel = driver.load(strides="any")["vector_add"]
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    for same in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert same == kernel
        c.zero_()
        same(a, a, c, 64, grid=1, block=64)
        assert torch.equal(c, a + a)
