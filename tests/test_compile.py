"""torch.compile and torch.export, through kernel(...) and through the operator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from requirements import does_not_apply
from torch._dynamo.testing import CompileCounter
from torch._inductor.utils import fresh_cache, run_and_get_code

import wave_runtime

Function = Callable[..., torch.Tensor]


def blocks(n: int) -> int:
    return (n + 255) // 256


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(params=["call", "operator"])
def add(request: pytest.FixtureRequest, vector_add: wave_runtime.Kernel) -> Function:
    """A function from a and b to a + b."""
    handle = vector_add.handle

    def by_call(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(a)
        vector_add(a, b, out, a.shape[0], grid=blocks(a.shape[0]), block=256)
        return out

    def by_operator(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(a)
        torch.ops.wave.launch(handle, [a, b], [out], [a.shape[0]], [], [blocks(a.shape[0])], [256])
        return out

    return by_call if request.param == "call" else by_operator


def code_of(function: Function, *args: torch.Tensor) -> tuple[torch.Tensor, str]:
    """The result of a compiled function and the code that Inductor made of it."""
    result, code = run_and_get_code(function, *args)
    return result, code[0].split("def call(self, args):")[1].split("runner =")[0]


@pytest.mark.parametrize("dynamic", [False, True])
def test_fullgraph(add: Function, dynamic: bool) -> None:
    compiled = torch.compile(add, fullgraph=True, dynamic=dynamic)
    for n in (1000, 37):
        a, b = torch.randn(n), torch.randn(n)
        assert torch.equal(compiled(a, b), a + b)


def test_sizes_do_not_recompile(add: Function) -> None:
    counter = CompileCounter()
    compiled = torch.compile(add, fullgraph=True, dynamic=True, backend=counter)
    for n in (1000, 37, 38, 4096, 5):
        compiled(torch.randn(n), torch.randn(n))
    assert counter.frame_count == 1


@fresh_cache()  # the user's may have the code of another release
def test_no_copies(add: Function) -> None:
    """Two launches, each into a buffer of its own: nothing is cloned, and no other kernel is generated."""
    compiled = torch.compile(lambda a, b: add(add(a, b), b), fullgraph=True)
    a, b = torch.randn(500), torch.randn(500)
    result, code = code_of(compiled, a, b)
    assert torch.equal(result, a + b + b)
    calls = r"torch\.ops\.wave(\.launch\.default|_kernel\.vector_add_\w{16}\.block\.inductor_call)\("
    assert len(re.findall(calls, code)) == 2
    assert code.count("empty_strided_cpu(") == 2
    assert not re.search(r"cpp_fused|clone|copy_", code), code


def test_output_that_is_a_view_of_an_input_is_written_in_place(vector_add: wave_runtime.Kernel) -> None:
    def fill(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
        vector_add(a, b, out[100:600], 500, grid=2, block=256)

    a, b, out = torch.randn(500), torch.randn(500), torch.zeros(1000)
    _, code = code_of(torch.compile(fill, fullgraph=True), a, b, out)
    assert torch.equal(out[100:600], a + b)
    assert not re.search(r"cpp_fused|clone|copy_|empty_strided_cpu\(", code), code


def test_order_with_fused_kernels(add: Function) -> None:
    """A launch reads what a fused kernel wrote, and a fused kernel reads what the launch wrote."""
    compiled = torch.compile(lambda a, b: torch.relu(add(a * 2 + 1, b)) * 3, fullgraph=True)
    a, b = torch.randn(500), torch.randn(500)
    torch.testing.assert_close(compiled(a, b), torch.relu(a * 2 + 1 + b) * 3)


def test_strides_are_kept(vector_add: wave_runtime.Kernel) -> None:
    """The kernel wants contiguous tensors; the compiler may not change that to suit itself."""
    weight = torch.randn(20, 50)

    def transposed(x: torch.Tensor) -> torch.Tensor:
        y = (x.t() + 1).contiguous()
        out = torch.empty_like(y)
        vector_add(y, weight.t().contiguous(), out, y.numel(), grid=blocks(y.numel()), block=256)
        return out

    x = torch.randn(20, 50)
    torch.testing.assert_close(torch.compile(transposed, fullgraph=True)(x), x.t() + 1 + weight.t())


def test_requires_grad_raises(add: Function) -> None:
    with pytest.raises(Exception, match="requires grad, but a launch has no derivative"):
        torch.compile(add, fullgraph=True)(torch.randn(8, requires_grad=True), torch.randn(8))


def test_inside_an_autograd_function(add: Function) -> None:
    if torch.__version__.startswith("2.10."):
        does_not_apply("torch 2.10 traces no objects in a forward's closure")

    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return add(a, b)

        @staticmethod
        def backward(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return gradient, gradient

    a, b = torch.randn(100, requires_grad=True), torch.randn(100)
    compiled = torch.compile(lambda a, b: (Add.apply(a, b) * 2).sum(), fullgraph=True)
    compiled(a, b).backward()
    assert torch.equal(a.grad, torch.full((100,), 2.0))


def test_checkpoint(add: Function) -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, a: torch.Tensor) -> torch.Tensor:
            return add(a, a.clone())

        @staticmethod
        def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
            return gradient * 2

    a = torch.randn(100, requires_grad=True)
    torch.utils.checkpoint.checkpoint(lambda a: Scale.apply(a.sin()).sum(), a, use_reentrant=False).backward()
    torch.testing.assert_close(a.grad, 2 * a.detach().cos())


def test_float_as_tensor_does_not_recompile(language: Callable[..., wave_runtime.Kernel]) -> None:
    kernel = language("argument_types", "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, bytes[8]")

    def store(scale: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(104, dtype=torch.uint8)
        kernel(out, 0, 0, 0, 0, 0, 0, 0, 0, False, 1.0, scale, 2.0, b"12345678", grid=1, block=1)
        return out[80:84].view(torch.float32)

    counter = CompileCounter()
    compiled = torch.compile(store, fullgraph=True, backend=counter)
    assert [compiled(torch.tensor(value)).item() for value in (0.5, 1.5, 2.5)] == [0.5, 1.5, 2.5]
    assert counter.frame_count == 1


def test_float_for_an_untyped_argument_asks_for_a_signature(probe: Callable[..., wave_runtime.Kernel]) -> None:
    kernel = probe("preloaded", "*u8, b64, b32, b32")

    def call(out: torch.Tensor) -> None:
        kernel(out, 0, 1.5, 0, grid=1, block=64)

    with pytest.raises(Exception, match=r"argument 2: given a float where the signature .* does not say f32"):
        torch.compile(call, fullgraph=True)(torch.zeros(16, dtype=torch.uint8))


class Model(torch.nn.Module):
    def __init__(self, add: Function) -> None:
        super().__init__()
        self.add = add
        self.register_buffer("bias", torch.randn(1))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return self.add(a, b).sin() + self.bias


@pytest.mark.parametrize("strict", [False, True])
def test_export_round_trip(add: Function, strict: bool, tmp_path: Path) -> None:
    model = Model(add)
    a, b = torch.randn(500), torch.randn(500)
    size = torch.export.Dim("size", min=2, max=10**6)
    program = torch.export.export(model, (a, b), dynamic_shapes={"a": {0: size}, "b": {0: size}}, strict=strict)
    assert "wave.launch" in str(program.graph)
    torch.export.save(program, f"{tmp_path}/model.pt2")
    loaded = torch.export.load(f"{tmp_path}/model.pt2").module()
    for n in (500, 37):
        a, b = torch.randn(n), torch.randn(n)
        torch.testing.assert_close(loaded(a, b), (a + b).sin() + model.bias)


def test_aot_inductor_package(add: Function, tmp_path: Path) -> None:
    """Inductor's lowering runs the operator on fake parameters with grad mode on, which must not raise there."""

    class Biased(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bias = torch.nn.Parameter(torch.randn(500))

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return add(a, self.bias.detach()[: a.shape[0]].clone()) * self.bias[0]

    model = Biased()
    size = torch.export.Dim("size", min=2, max=500)
    with torch.no_grad():
        program = torch.export.export(model, (torch.randn(400),), dynamic_shapes={"a": {0: size}})
        package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
        loaded = torch._inductor.aoti_load_package(package)
        for n in (400, 37):
            a = torch.randn(n)
            torch.testing.assert_close(loaded(a), model(a))


def test_make_fx(add: Function) -> None:
    trace = torch.fx.experimental.proxy_tensor.make_fx(add, tracing_mode="fake")
    graph = trace(torch.randn(8), torch.randn(8))
    assert "torch.ops.wave.launch.default" in graph.code
    a, b = torch.randn(8), torch.randn(8)
    assert torch.equal(graph(a, b), a + b)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_parts_that_overlap_where_sizes_are_symbolic(vector_add: wave_runtime.Kernel, backend: str) -> None:
    """A compiler does not know that they do; the launch reads the old contents then, as it would of a clone."""

    def shift(x: torch.Tensor, n: int, by: int) -> torch.Tensor:
        source, target = x[:n], x[by : by + n]
        vector_add(source, source, target, n, grid=1, block=256)
        return x

    compiled = torch.compile(shift, backend=backend, dynamic=True, fullgraph=True)
    for by in (2, 16):
        x = torch.arange(32.0)
        expected = x.clone()
        expected[by : by + 16] = 2 * x[:16]
        assert torch.equal(compiled(x, 16, by), expected)
    with pytest.raises(ValueError, match="argument 2 'c', which the kernel writes, shares memory with argument 0 'a'"):
        shift(torch.arange(32.0), 16, 2)
