"""Inductor's code reads a tensor before a kernel writes it, where the program does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from operators_support import add_out
from torch import Tensor
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config

import wave_runtime
from wave_runtime import cdiv
from wave_runtime.compat.op_reg import CustomOp, def_library

Write = Callable[[Tensor, Tensor], None]
LIBRARY = def_library("wave_test_inductor")


@pytest.fixture(autouse=True)
def _compiled_anew() -> Iterator[None]:
    """No cache of earlier runs serves what they compiled."""
    torch._dynamo.reset()
    with inductor_config.patch(fx_graph_cache=False), functorch_config.patch(enable_autograd_cache=False):
        yield
    torch._dynamo.reset()


def call(kernel: wave_runtime.Kernel) -> Write:
    return lambda a, out: kernel(a, a, out, a.numel(), grid=cdiv(a.numel(), 256), block=256)


def generic(kernel: wave_runtime.Kernel) -> Write:
    def write(a: Tensor, out: Tensor) -> None:
        torch.ops.wave.launch(kernel.handle, [a, a], [out], [a.numel()], [], [cdiv(a.numel(), 256)], [256])

    return write


def as_operator(kernel: wave_runtime.Kernel) -> Write:
    if not hasattr(torch.ops.wave_test, "inductor_own"):
        kernel.as_operator("wave_test::inductor_own", block=256)
    return lambda a, out: torch.ops.wave_test.inductor_own(a, a, out, a.numel(), cdiv(a.numel(), 256))


def decorated(kernel: wave_runtime.Kernel) -> Write:
    return lambda a, out: add_out(a, a, out=out)


def declared(kernel: wave_runtime.Kernel) -> Write:
    arguments = {"n": lambda a: a.numel()}
    grid = lambda a: cdiv(a.numel(), 256)  # noqa: E731
    operator = wave_runtime.define_op("wave_test::inductor", kernel, arguments=arguments, grid=grid, block=256)
    return lambda a, out: operator(a, a, out)


def custom(kernel: wave_runtime.Kernel) -> Write:
    class double_(CustomOp):
        signature = "double_@UNIQUE@(Tensor a, Tensor(a!) out) -> ()"

        def select(self, sel: object) -> None:
            sel.arg_tensor(0)
            sel.arg_tensor(1)

        def eager_execute(self, a: Tensor, out: Tensor) -> None:
            call(kernel)(a, out)

        def generate(self, ksel: object, kb: object) -> None:
            raise NotImplementedError

    return CustomOp.register(double_, library=LIBRARY)


WAYS = {f.__name__: f for f in (call, generic, as_operator, decorated, declared, custom)}


def buffer(write: Write, a: Tensor) -> Tensor:
    """P is read by the launch that writes what p was computed from, and after it."""
    w = torch.empty_like(a)
    write(a, w)
    p = w * 3
    write(p, w)
    return p + w


def argument(write: Write, a: Tensor) -> Tensor:
    p = a * 3
    write(p, a)
    return p + a


def view(write: Write, a: Tensor) -> Tensor:
    w = torch.empty_like(a)
    write(a, w)
    p = w * 3
    write(p[:200], w[:200])
    return p + w


def other_reader(write: Write, a: Tensor) -> Tensor:
    """Q has no part in the launch."""
    w = torch.empty_like(a)
    write(a, w)
    p, q = w * 3, w * 5
    write(p, w)
    return p + w + q


PROGRAMS = {f.__name__: f for f in (buffer, argument, view, other_reader)}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("way", WAYS)
def test_order(way: str, program: str, vector_add: wave_runtime.Kernel) -> None:
    write, function = WAYS[way](vector_add), PROGRAMS[program]
    a = torch.randn(500)
    eager, compiled = a.clone(), a.clone()
    expected = function(write, eager)
    assert torch.equal(torch.compile(function, fullgraph=True)(write, compiled), expected)
    assert torch.equal(eager, compiled)


def test_order_in_packages(vector_add: wave_runtime.Kernel, tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def forward(self, a: Tensor) -> Tensor:
            return buffer(call(vector_add), a)

    a = torch.randn(500)
    package = str(tmp_path / "model.pt2")
    torch._inductor.aoti_compile_and_package(torch.export.export(Model(), (a,)), package_path=package)
    assert torch.equal(torch._inductor.aoti_load_package(package)(a), Model()(a))
