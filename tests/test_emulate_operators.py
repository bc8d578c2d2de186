"""wave_runtime.emulate: operators of programs, and of torch, that have kernels for GPUs alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import wave_runtime

Unary = Callable[[torch.Tensor], torch.Tensor]


def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def triple(x: torch.Tensor) -> torch.Tensor:
    return 3 * x


def test_custom_op(gpu: object) -> None:
    """In eager mode and under torch.compile, with its derivative."""

    @torch.library.custom_op("emulated::custom", mutates_args=(), device_types="cuda")
    def custom(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    custom.register_fake(torch.empty_like)
    custom.register_autograd(lambda ctx, grad: 2 * grad)
    x = torch.randn(8, device="cuda", requires_grad=True)
    assert torch.equal(custom(x), 2 * x)
    assert torch.equal(torch.compile(custom, fullgraph=True)(x), 2 * x)
    custom(x).sum().backward()
    assert torch.equal(x.grad, torch.full((8,), 2.0))


@pytest.mark.parametrize("form", ["key", "library's key", "function"])
def test_each_way_to_register(gpu: object, form: str) -> None:
    with torch.library._scoped_library("emulated", "FRAGMENT") as library:
        library.define("way(Tensor x) -> Tensor")
        if form == "key":
            library.impl("way", double, "CUDA")
        elif form == "function":
            torch.library.impl("emulated::way", "cuda", double, lib=library)
        else:
            other = torch.library.Library("emulated", "IMPL", "CUDA")
            other.impl(torch.ops.emulated.way.default, double)
        x = torch.randn(8, device="cuda")
        assert torch.equal(torch.ops.emulated.way(x), 2 * x)


@pytest.mark.parametrize("order", [("CPU", "CUDA"), ("CUDA", "CPU")], ids=" ".join)
def test_a_kernel_for_the_cpu_counts(gpu: object, order: tuple[str, ...]) -> None:
    functions = {"CPU": triple, "CUDA": double}
    with torch.library._scoped_library("emulated", "FRAGMENT") as library:
        library.define("both(Tensor x) -> Tensor")
        for key in order:
            library.impl("both", functions[key], key)
        x = torch.randn(8, device="cuda")
        assert torch.equal(torch.ops.emulated.both(x), 3 * x)


def test_a_kernel_for_autograd(gpu: object) -> None:
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return 2 * x

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            return 3 * grad

    with torch.library._scoped_library("emulated", "FRAGMENT") as library:
        library.define("derived(Tensor x) -> Tensor")
        library.impl("derived", Triple.apply, "AutogradCUDA")
        x = torch.ones(8, device="cuda", requires_grad=True)
        torch.ops.emulated.derived(x).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [3] * 8


def test_it_goes_with_its_library(gpu: object) -> None:
    for function, times in ((double, 2), (triple, 3)):
        with torch.library._scoped_library("emulated", "FRAGMENT") as library:
            library.define("again(Tensor x) -> Tensor")
            library.impl("again", function, "CUDA")
            assert torch.ops.emulated.again(torch.ones(2, device="cuda")).tolist() == [times] * 2


def test_it_ends_with_the_emulation() -> None:
    with torch.library._scoped_library("emulated", "FRAGMENT") as library:
        library.define("ended(Tensor x) -> Tensor")
        with wave_runtime.emulate("gfx942"):
            library.impl("ended", double, "CUDA")
            assert torch.ops.emulated.ended(torch.ones(2)).tolist() == [2, 2]
        with pytest.raises(NotImplementedError, match="emulated::ended"):
            torch.ops.emulated.ended(torch.ones(2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_products_in_another_type(gpu: object, dtype: torch.dtype) -> None:
    """Of halves, whose sums are not rounded to halves."""
    a, b, c = (torch.randn(2, 16, 16, device="cuda").to(dtype) for _ in range(3))
    products = {"mm": (a[0], b[0]), "bmm": (a, b), "addmm": (c[0], a[0], b[0]), "baddbmm": (c, a, b)}
    for name, operands in products.items():
        product = getattr(torch, name)
        scales = {"beta": 2, "alpha": 0.5} if "add" in name else {}
        expected = product(*(each.float() for each in operands), **scales)
        got = product(*operands, out_dtype=torch.float32, **scales)
        assert got.dtype == torch.float32
        assert torch.equal(got, expected)
        out = torch.empty_like(expected)
        assert product(*operands, out_dtype=torch.float32, **scales, out=out) is out
        assert torch.equal(out, expected)
        assert torch.equal(product(*operands, out_dtype=dtype, **scales), product(*operands, **scales))
    with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
        torch.mm(a[0].float(), b[0].float(), out_dtype=torch.float64)
    with pytest.raises(RuntimeError, match="to have the same dtype"):
        torch.bmm(a.float(), b, out_dtype=torch.float32)


def test_products_in_another_type_end_with_the_emulation() -> None:
    a = torch.randn(4, 4).half()
    for _ in range(2):
        with wave_runtime.emulate("gfx942"):
            assert torch.mm(a, a, out_dtype=torch.float32).dtype == torch.float32
        with pytest.raises(NotImplementedError, match="aten::mm"):
            torch.mm(a, a, out_dtype=torch.float32)
