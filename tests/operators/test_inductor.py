"""Inductor's code reads a tensor before a kernel writes it, where the program does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from operators_support import add_out
from torch import Tensor
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from torch._inductor import metrics
from torch._inductor.utils import run_and_get_code

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


def clone(write: Write, a: Tensor) -> Tensor:
    """Inductor takes the clone for a."""
    write(a.clone(), a)
    return a + 1


def shifted_clone(write: Write, a: Tensor) -> Tensor:
    """With the clone taken for p, later lanes would read what earlier ones wrote."""
    p = a * 3
    write(p.clone()[:-1], p[1:])
    return p + 1


PROGRAMS = {f.__name__: f for f in (buffer, argument, view, other_reader, clone, shifted_clone)}


@pytest.mark.each_value
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("way", WAYS)
def test_order(way: str, program: str, vector_add: wave_runtime.Kernel) -> None:
    write, function = WAYS[way](vector_add), PROGRAMS[program]
    a = torch.randn(500)
    eager, compiled = a.clone(), a.clone()
    expected = function(write, eager)
    assert torch.equal(torch.compile(function, fullgraph=True)(write, compiled), expected)
    assert torch.equal(eager, compiled)


def snapshot(write: Write, a: Tensor) -> Tensor:
    """Inductor leaves out clones of what nobody changes, as it knows it then."""
    write(a + 1, a)
    v = a.clone()
    a.mul_(10)
    return v


def snapshots(write: Write, a: Tensor) -> tuple[Tensor, ...]:
    kept = []
    for _ in range(3):
        write(a + 1, a)
        kept.append(a.clone())
    return tuple(kept)


def snapshot_at_the_end(write: Write, a: Tensor) -> Tensor:
    write(a + 1, a)
    return a.clone()


def permuted(write: Write, a: Tensor) -> Tensor:
    """What a launch has written in place is overwritten by what is read of it elsewhere."""
    write(a + 1, a)
    a.copy_(a.flip(0) * 2)
    return a + 1


@pytest.mark.each_value
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", [snapshot, snapshots, snapshot_at_the_end, permuted])
@pytest.mark.parametrize("way", [call, custom])
def test_what_was_written_is_kept(
    way: Callable[[wave_runtime.Kernel], Write],
    program: Callable[..., Any],
    dynamic: bool,
    vector_add: wave_runtime.Kernel,
) -> None:
    """Where the input is written again later, or is returned besides: torch's own operators have what these lack."""
    write = way(vector_add)
    a = torch.randn(500)
    eager, compiled = a.clone(), a.clone()
    expected = program(write, eager)
    found = torch.compile(program, fullgraph=True, dynamic=dynamic)(write, compiled)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert torch.equal(eager, compiled)
    parts = found if isinstance(found, tuple) else (found,)
    assert len({part.data_ptr() for part in (*parts, compiled)}) == len(parts) + 1


def test_launches_in_a_row_write_an_input_in_place(vector_add: wave_runtime.Kernel) -> None:
    """Without a copy of it."""
    write = call(vector_add)

    def twice(a: Tensor, b: Tensor) -> None:
        write(a, b)
        write(a, b)

    a, b = torch.randn(500), torch.zeros(500)
    _, (code,) = run_and_get_code(torch.compile(twice, fullgraph=True), a, b)
    assert torch.equal(b, a + a)
    assert "empty_strided" not in code.split("def call(")[1]


@pytest.mark.each_value
@pytest.mark.parametrize("program", [clone, shifted_clone])
@pytest.mark.parametrize("way", [call, decorated])
def test_clones_with_symbolic_sizes(
    way: Callable[[wave_runtime.Kernel], Write],
    program: Callable[[Write, Tensor], Tensor],
    vector_add: wave_runtime.Kernel,
) -> None:
    write = way(vector_add)
    compiled = torch.compile(program, fullgraph=True, dynamic=True)
    for size in (500, 700):
        a = torch.randn(size)
        assert torch.equal(compiled(write, a.clone()), program(write, a))


@pytest.mark.each_value
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("way", [call, decorated])
def test_written_views_of_inputs_with_offsets(
    way: Callable[[wave_runtime.Kernel], Write], dynamic: bool, vector_add: wave_runtime.Kernel
) -> None:
    """The input is a view that begins behind its storage's first element, and what is written is a view of that."""

    def middle(write: Write, a: Tensor) -> None:
        write(torch.ones(4), a.view(4, 4)[1:2])

    write, compiled = way(vector_add), torch.compile(middle, fullgraph=True, dynamic=dynamic)
    for offset in (3, 5):
        eager, base = torch.zeros(2, 32)
        middle(write, eager[offset : offset + 16])
        compiled(write, base[offset : offset + 16])
        assert torch.equal(base, eager)


@pytest.mark.each_value
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("way", [call, decorated])
def test_written_slices_of_inputs_with_offsets(
    way: Callable[[wave_runtime.Kernel], Write], backend: str, dynamic: bool, vector_add: wave_runtime.Kernel
) -> None:
    """The input begins behind its storage's first element, and what is written is a slice of it."""

    def end(write: Write, a: Tensor) -> Tensor:
        write(torch.ones(4), a[12:])
        return a * 1

    write, compiled = way(vector_add), torch.compile(end, fullgraph=True, backend=backend, dynamic=dynamic)
    eager, base = torch.zeros(2, 64)
    assert torch.equal(compiled(write, base[32:48]), end(write, eager[32:48]))
    assert torch.equal(base, eager)


@wave_runtime.define_op("wave_test::bump", mutates=["a"])
def bump(a: Tensor) -> None:
    a.add_(1)


def test_slices_of_two_tensors_with_symbolic_sizes() -> None:
    """Both have the size n - 1, which Inductor computes for the first and knows for the second."""

    def program(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        bump(a[1:])
        c = b + 1  # keeps the old values of b, so that the second write is made on a copy
        bump(b[1:])
        return c * 1, a * 1

    compiled = torch.compile(program, fullgraph=True, dynamic=True)
    for size in (20, 30):
        a, b = torch.randn(size), torch.randn(size)
        eager = a.clone(), b.clone()
        for found, expected in zip(compiled(a, b), program(*eager), strict=True):
            assert torch.equal(found, expected)
        assert torch.equal(a, eager[0])
        assert torch.equal(b, eager[1])


def before(a: Tensor) -> None:
    part = a[1:]
    a.mul_(2)
    bump(part)


def after(a: Tensor) -> None:
    a.mul_(2)
    bump(a[1:])


def between(a: Tensor) -> None:
    part = a[1:]
    bump(part)
    part.mul_(2)
    bump(part[1:])


def row_before(a: Tensor) -> None:
    row = a.view(4, 10)[1]
    a.mul_(2)
    bump(row)


def rows_before(a: Tensor) -> None:
    rows = a.view(4, 10)
    a.mul_(2)
    bump(rows)


def row_after(a: Tensor) -> None:
    a.mul_(2)
    bump(a.view(4, 10)[1])


@pytest.mark.each_value
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("program", [before, after, between, row_before, rows_before, row_after])
def test_written_slices_of_what_torch_wrote(program: Callable[[Tensor], None], backend: str, dynamic: bool) -> None:
    """The input begins behind its storage's first element, but what torch computed for it does not."""
    compiled = torch.compile(program, fullgraph=True, backend=backend, dynamic=dynamic)
    for offset in (3, 0):
        eager = torch.randn(48)
        base = eager.clone()
        compiled(base[offset : offset + 40])
        program(eager[offset : offset + 40])
        assert torch.equal(base, eager)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_written_slices_of_a_clone_of_an_input_with_an_offset(backend: str) -> None:
    """Inductor takes the input for its clone, and makes a copy of it: that begins where the input does."""

    def program(a: Tensor) -> Tensor:
        b = a.clone()
        bump(b[1:])
        bump(a)
        return b

    compiled = torch.compile(program, fullgraph=True, dynamic=False, backend=backend)
    for offset in (1, 0, 3):
        eager = torch.randn(48)
        base = eager.clone()
        assert torch.equal(compiled(base[offset : offset + 40]), program(eager[offset : offset + 40]))
        assert torch.equal(base, eager)


@wave_runtime.define_op("wave_test::second_half")
def second_half(a: Tensor) -> Tensor:
    return a.repeat(2).view(2, -1)[1]


@pytest.mark.each_value
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("part", [lambda y: y[12:], lambda y: y.view(4, 4)[3]], ids=["slice", "row"])
def test_written_parts_of_results_with_offsets(
    part: Callable[[Tensor], Tensor], backend: str, vector_add: wave_runtime.Kernel
) -> None:
    """An operator's result is a part of what its body made."""

    def program(a: Tensor) -> Tensor:
        y = second_half(a)
        call(vector_add)(torch.ones(4), part(y))
        return y

    a = torch.randn(16)
    assert torch.equal(torch.compile(program, fullgraph=True, backend=backend)(a), program(a))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_clones_of_other_tensors_and_in_other_backends(backend: str, vector_add: wave_runtime.Kernel) -> None:
    def program(write: Write, a: Tensor) -> Tensor:
        write(a[:200].clone(), a[200:400])
        write(a[300:400].contiguous().clone(), a[300:400])
        return a * 1

    write, a = call(vector_add), torch.randn(500)
    compiled = torch.compile(program, fullgraph=True, backend=backend)
    assert torch.equal(compiled(write, a.clone()), program(write, a))


@pytest.mark.parametrize("dynamic", [False, True])
def test_parts_of_one_tensor_are_not_copied(dynamic: bool, vector_add: wave_runtime.Kernel) -> None:
    def halves(a: Tensor) -> None:
        half = a.numel() // 2
        call(vector_add)(a[:half], a[half:])

    a = torch.randn(512)
    expected = a[:256] * 2
    metrics.reset()
    torch.compile(halves, fullgraph=True, dynamic=dynamic)(a)
    assert torch.equal(a[256:], expected)
    assert metrics.generated_kernel_count == 0


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_tensor_that_is_no_clone_is_refused(dynamic: bool, vector_add: wave_runtime.Kernel) -> None:
    compiled = torch.compile(call(vector_add), fullgraph=True, dynamic=dynamic)
    a = torch.ones(500)
    with pytest.raises(Exception, match="argument 2 'c', which the kernel writes, shares memory with argument 0 'a'"):
        compiled(a, a)
    assert torch.equal(a, torch.ones(500))


def test_order_in_packages(vector_add: wave_runtime.Kernel, tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def forward(self, a: Tensor) -> Tensor:
            return buffer(call(vector_add), a)

    a = torch.randn(500)
    package = str(tmp_path / "model.pt2")
    torch._inductor.aoti_compile_and_package(torch.export.export(Model(), (a,)), package_path=package)
    assert torch.equal(torch._inductor.aoti_load_package(package)(a), Model()(a))
