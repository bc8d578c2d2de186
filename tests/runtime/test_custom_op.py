"""CustomOp over kernels: registration, when kernels are generated, compilers, export. No IREE."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
import torch
import warm_python
from custom_op_support import LIBRARY, Counted, registered
from support import ROOT

from wave_runtime.compat.op_reg import CustomOp


def test_default_library() -> None:
    @CustomOp.register
    class add_by_default(Counted):
        signature = "add_by_default(Tensor a, Tensor b) -> Tensor"

    assert add_by_default is torch.ops.wave_lang.add_by_default
    a, b = torch.randn(1000), torch.randn(1000)
    assert torch.equal(add_by_default(a, b), a + b)


@pytest.mark.needs("wave-lang")
def test_beside_wave_lang() -> None:
    """wave-lang's own module of this name defines the namespace of the default library, too, before or after."""
    code = "import wave_lang.runtime.op_reg, wave_runtime.op_reg"
    done = warm_python.run("-c", code, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr


def test_select_at_each_call_and_generate_on_a_miss() -> None:
    op, instance = registered(Counted)
    meta = op(torch.empty(3, 4, device="meta"), torch.empty(3, 4, device="meta"))
    assert (meta.device.type, meta.shape) == ("meta", (3, 4))
    assert (instance.selected, instance.generated) == (1, 0)
    for size in (1000, 1000, 77):
        a, b = torch.randn(size), torch.randn(size)
        assert torch.equal(op(a, b), a + b)
    assert (instance.selected, instance.generated) == (4, 1)
    op(torch.ones(2, 3), torch.ones(2, 3))  # another rank
    assert (instance.selected, instance.generated) == (5, 2)


def test_kernels_are_generated_once_among_threads() -> None:
    op, instance = registered(Counted)
    a, b = torch.randn(1000), torch.randn(1000)
    results: list[torch.Tensor] = []
    threads = [threading.Thread(target=lambda: results.append(op(a, b))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert instance.generated == 1
    assert all(torch.equal(result, a + b) for result in results)
    assert len(results) == 8


def test_registered_on_cpu_cuda_and_meta() -> None:
    op, _ = registered(Counted)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    name = f"{LIBRARY.ns}::{op.__name__}"
    assert [has(name, key) for key in ("CPU", "CUDA", "Meta", "XPU")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"dispatch_key": "CPU"}, ["CPU", "Meta"]),
        ({"dispatch_key": ["CPU", "XPU"]}, ["CPU", "XPU", "Meta"]),
        ({"register_meta": False}, ["CPU", "CUDA"]),
        ({"register_impl": False}, ["Meta"]),
    ],
)
def test_what_is_registered(options: dict[str, Any], keys: list[str]) -> None:
    op, _ = registered(Counted, **options)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    name = f"{LIBRARY.ns}::{op.__name__}"
    assert [key for key in ("CPU", "CUDA", "XPU", "Meta") if has(name, key)] == keys


def test_decorator_with_parentheses() -> None:
    @CustomOp.register(library=LIBRARY)
    class add(Counted):
        pass

    assert callable(add)
    assert not isinstance(add, type)
    assert torch.equal(add(torch.ones(5), torch.ones(5)), torch.full((5,), 2.0))


def test_unique_names() -> None:
    first, second = (registered(Counted)[0].__name__ for _ in range(2))
    number = int(first.removeprefix("add"))
    assert second == f"add{number + 1}"


def test_errors_of_registration() -> None:
    class twice(Counted):
        signature = "twice(Tensor a, Tensor b) -> Tensor"

    registered(twice)
    with pytest.raises(RuntimeError, match="Duplicate wave custom op registration: library=test_custom_op, name=twice"):
        registered(twice)

    class no_signature(Counted):
        signature = "no_signature"

    with pytest.raises(ValueError, match=r"Expected signature of form `name\(...\) -> type. Got: no_signature"):
        registered(no_signature)


def test_compiled() -> None:
    op, instance = registered(Counted)

    def model(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return op(op(a, b), b)  # nothing that needs a C++ compiler

    for backend, dynamic in (("inductor", False), ("aot_eager", True)):
        compiled = torch.compile(model, fullgraph=True, dynamic=dynamic, backend=backend)
        for size in (100, 200) if dynamic else (100,):
            a, b = torch.randn(size), torch.randn(size)
            assert torch.equal(compiled(a, b), model(a, b))
        torch._dynamo.reset()
    assert instance.generated == 1


def test_exported() -> None:
    op, _ = registered(Counted)

    class Model(torch.nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return op(a, b) + 1

    size = torch.export.Dim("size", min=2)
    a, b = torch.randn(100), torch.randn(100)
    program = torch.export.export(Model(), (a, b), dynamic_shapes=({0: size}, {0: size}))
    assert op.default in [node.target for node in program.graph.nodes]
    a, b = torch.randn(300), torch.randn(300)
    assert torch.equal(program.module()(a, b), a + b + 1)


def test_opcheck() -> None:
    op, _ = registered(Counted)
    torch.library.opcheck(op.default, (torch.randn(10, 3), torch.randn(3, 10).T))


def test_derivative() -> None:
    """The operator is one of PyTorch's, and takes a derivative as any."""
    op, _ = registered(Counted)
    torch.library.register_autograd(f"{LIBRARY.ns}::{op.__name__}", lambda ctx, grad: (grad, 3 * grad), lib=LIBRARY)
    a, b = torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
    op(a, b).sum().backward()
    assert b.grad is not None
    assert torch.equal(b.grad, torch.full((5,), 3.0))


def test_tensors_of_several_devices() -> None:
    op, _ = registered(Counted, dispatch_key=["CPU", "Meta"], register_meta=False)
    with pytest.raises(RuntimeError, match="Cannot launch with tensors from multiple devices: meta vs cpu"):
        op(torch.ones(5), torch.ones(5, device="meta"))


def test_an_argument_that_is_not_declared() -> None:
    class forgets(Counted):
        signature = "forgets(Tensor a, Tensor b, int n=1) -> Tensor"

    op, _ = registered(forgets)
    with pytest.raises(
        AssertionError, match=r"Uninitialized argument descriptor: select\(\) of 'forgets' declares no "
    ):
        op(torch.ones(5), torch.ones(5))


def test_without_iree() -> None:
    """Kernels need none of it; MLIR says what to install."""
    code = """
import sys
sys.modules["iree"] = None
import torch, wave_runtime
from custom_op_support import Counted, registered
op, _ = registered(Counted)
assert torch.equal(op(torch.ones(5), torch.ones(5)), torch.full((5,), 2.0))
Counted.generate = lambda self, ksel, kb: kb.yield_results(kb.arg_value(0))
op, _ = registered(Counted)
for call, package in [
    (lambda: op(torch.ones(5), torch.ones(5)), "compiler"),
    (lambda: wave_runtime.Launchable.jit_compile("module {}").preload(torch.device("cpu")), "runtime"),
    (lambda: wave_runtime.Device("local-task"), "runtime"),
    (lambda: wave_runtime.get_vm_instance(), "runtime"),
]:
    try:
        call()
    except ModuleNotFoundError as error:
        assert f"pip install iree-base-{package}" in str(error), error
    else:
        raise AssertionError
"""
    paths = [ROOT, ROOT / "tests", ROOT / "tests" / "runtime"]
    environment = {**os.environ, "PYTHONPATH": ":".join(map(str, paths))}
    done = warm_python.run("-c", code, env=environment)
    assert done.returncode == 0, done.stderr
