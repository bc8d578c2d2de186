"""define_op under torch.compile: one opaque operator, or the body where it is inlined."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
import torch
from operators_support import BINARIES, SIGNATURE, add, add_out, inlined_add, matmul, twice
from torch import Tensor
from torch._dynamo.testing import CompileCounter
from torch._inductor.utils import fresh_cache, run_and_get_code

import wave_runtime


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("op", [add, inlined_add], ids=["opaque", "inlined"])
def test_fullgraph(op: wave_runtime.Operator, dynamic: bool) -> None:
    compiled = torch.compile(op, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for n in (1000, 37):
        a, b = torch.randn(n), torch.randn(n)
        assert torch.equal(compiled(a, b), a + b)


@fresh_cache()  # the user's may have the code of another release
def test_no_copies_and_order_with_fused_kernels() -> None:
    """Fused kernels and operators read what the other wrote, and nothing is cloned."""

    def function(a: Tensor, b: Tensor) -> Tensor:
        out = torch.empty_like(a)
        add_out(torch.relu(a) * 2, b, out=out)
        return inlined_add(add(out, b), b) * 3

    a, b = torch.randn(500), torch.randn(500)
    result, (code, *_) = run_and_get_code(torch.compile(function, fullgraph=True), a, b)
    torch.testing.assert_close(result, (torch.relu(a) * 2 + 3 * b) * 3)
    code = code.split("def call(self, args):")[1].split("runner =")[0]
    assert code.count("torch.ops.wave_test.add.default.inductor_call(") == 1
    assert code.count("torch.ops.wave_test.add_out.default.inductor_call(") == 1
    assert len(re.findall(r"torch\.ops\.wave_kernel\.vector_add_\w+\.block\.inductor_call\(", code)) == 1
    assert "fingerprint" not in code
    assert not re.search(r"clone|copy_", code), code
    assert len(re.findall(r"cpp_fused_\w+\(", code)) == 2, "before the first operator and after the last"


@pytest.mark.parametrize("op", [add, inlined_add], ids=["opaque", "inlined"])
def test_sizes_do_not_recompile(op: wave_runtime.Operator) -> None:
    counter = CompileCounter()
    compiled = torch.compile(lambda a, b: op(a, b), fullgraph=True, dynamic=True, backend=counter)
    for n in (1000, 37, 38, 4096, 5):
        compiled(torch.randn(n), torch.randn(n))
    assert counter.frame_count == 1


def test_strides_reach_the_operator_as_they_are() -> None:
    options = {"signature": {"vector_add": SIGNATURE}, "strides": "any"}
    kernel = wave_runtime.load(BINARIES / "basics.hsaco", **options)["vector_add"]

    @wave_runtime.define_op("wave_test::add_any")
    def add_any(a: Tensor, b: Tensor) -> Tensor:
        assert a.stride() == b.stride() == (1, 30)
        c = torch.empty_strided(a.shape, a.stride())
        kernel(a, b, c, a.numel(), grid=wave_runtime.cdiv(a.numel(), 256), block=256)
        return c

    a, b = torch.randn(20, 30), torch.randn(20, 30)
    result, (code, *_) = run_and_get_code(torch.compile(lambda a, b: add_any((a + 1).T, b.T), fullgraph=True), a, b)
    torch.testing.assert_close(result, (a + 1 + b).T)
    assert "clone" not in code


def test_gradients() -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        return twice(matmul(x, w.T)).square().sum()

    x, w = torch.randn(20, 20, requires_grad=True), torch.randn(20, 20, requires_grad=True)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    got, expected = compiled(x, w), (2 * (x @ w.T)).square().sum()
    torch.testing.assert_close(got, expected)
    gradients = (torch.autograd.grad(loss, (x, w)) for loss in (got, expected))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_an_inlined_operator_with_rules() -> None:
    """Where a derivative or autocast is asked for, a compiler sees what eager mode does."""

    @wave_runtime.define_op("wave_test::inlined_twice", inline=True)
    def inlined_twice(x: Tensor) -> Tensor:
        return twice.body(x.float()).to(x.dtype)

    inlined_twice.register_backward(lambda grad, x: inlined_twice(grad.contiguous()))
    inlined_twice.register_autocast(torch.bfloat16)
    x = torch.randn(20, requires_grad=True)
    compiled = torch.compile(lambda x: inlined_twice(x), fullgraph=True, backend="aot_eager")
    compiled(x).sum().backward()
    assert torch.equal(x.grad, torch.full((20,), 2.0))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        assert compiled(x).dtype == inlined_twice(x).dtype == torch.bfloat16
        program = torch.export.export(torch.nn.Sequential(Call(inlined_twice)), (x.detach(),))
        assert program.module()(x.detach()).dtype == torch.bfloat16


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_tensor_given_twice_once_to_be_written_raises(backend: str) -> None:
    def write(a: Tensor, b: Tensor, out: Tensor) -> None:
        add_out(a, b, out=out)

    base, b = torch.arange(8.0), torch.ones(3)
    compiled = torch.compile(write, fullgraph=True, backend=backend)
    for a, out in ((base[:3], base[:3]), (base[1:4], base[:3])):
        with pytest.raises(Exception, match="argument 2 'c', which the kernel writes, shares memory with argument 0"):
            compiled(a, b, out)
    assert torch.equal(base, torch.arange(8.0))
    compiled(base[:3], b, base[3:6])  # other parts of one tensor
    assert torch.equal(base, torch.tensor([0.0, 1, 2, 1, 2, 3, 6, 7]))


@fresh_cache()  # the user's may have the code of another release
def test_written_arguments() -> None:
    """Inputs of the graph, intermediate values and views of them are written in place."""

    @wave_runtime.define_op("wave_test::increase_", mutates=["x"])
    def increase_(x: Tensor, by: Tensor) -> None:
        total = torch.empty_like(x)
        add_out(x, by, out=total)
        x.copy_(total)

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = x * 2
        increase_(z, y)
        increase_(z[:3], y[:3])
        w = z + 1
        increase_(x, y)
        return w, z

    x, y = torch.arange(6.0), torch.ones(6)
    expected, changed = function(x, y), x.clone()
    x = torch.arange(6.0)
    got, (code, *_) = run_and_get_code(torch.compile(function, fullgraph=True), x, y)
    torch.testing.assert_close(got, expected)
    assert torch.equal(x, changed)
    code = code.split("def call(self, args):")[1].split("runner =")[0]
    assert code.count("torch.ops.wave_test.increase_.default.inductor_call(") == 3
    assert code.count("empty_strided_cpu(") == 2, "z and w"


def test_a_float_that_is_a_tensor_does_not_recompile(language: Callable[..., wave_runtime.Kernel]) -> None:
    kernel = language("argument_types", "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, bytes[8]")

    @wave_runtime.define_op("wave_test::store")
    def store(like: Tensor, scale: Tensor) -> Tensor:
        out = like.new_zeros(104, dtype=torch.uint8)
        kernel(out, 0, 0, 0, 0, 0, 0, 0, 0, False, 1.0, scale, 2.0, b"12345678", grid=1, block=1)
        return out[80:84].view(torch.float32)

    counter = CompileCounter()
    compiled = torch.compile(lambda like, scale: store(like, scale), fullgraph=True, backend=counter)
    assert [compiled(torch.zeros(1), torch.tensor(value)).item() for value in (0.5, 1.5, 2.5)] == [0.5, 1.5, 2.5]
    assert counter.frame_count == 1


class Call(torch.nn.Module):
    """An operator as a module."""

    def __init__(self, op: wave_runtime.Operator) -> None:
        super().__init__()
        self.op = op

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x)


@pytest.mark.parametrize("strict", [False, True])
def test_export_inlines(strict: bool) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(6, 6))

        def forward(self, x: Tensor) -> Tensor:
            return twice(matmul(x, self.weight)).sin()

    model, x = Model(), torch.randn(6, 6)
    program = torch.export.export(model, (x,), strict=strict)
    assert "wave.launch" in str(program.graph)
    assert "wave_test" not in str(program.graph)
    with torch.no_grad():  # launches have no derivative
        torch.testing.assert_close(program.module()(x), model(x))


def test_without_a_derivative() -> None:
    a = torch.randn(4, requires_grad=True)
    message = r"operator 'wave_test::add': a tensor requires grad, but the operator has no derivative"
    with pytest.raises(Exception, match=message):
        torch.compile(lambda a: add(a, a), fullgraph=True, backend="aot_eager")(a)
    with torch.no_grad():
        result = torch.compile(lambda a: add(a, a), fullgraph=True, backend="aot_eager")(a)
    assert torch.equal(result, a.detach() * 2)
