"""Derivatives of operators, and autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from operators_support import add, add_out, launch_add, matmul, twice, twice_backward
from support import ROOT
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

import wave_runtime
from wave_runtime import cdiv

CLOSE = {"rtol": 1e-4, "atol": 1e-4}  # sums in another order


def layer(x: Tensor, w: Tensor) -> Tensor:
    return twice(matmul(x, w.T)).square().sum()


def layer_by_torch(x: Tensor, w: Tensor) -> Tensor:
    return (2 * (x @ w.T)).square().sum()


def inputs(**options: Any) -> tuple[Tensor, Tensor]:
    return torch.randn(20, 20, **options), torch.randn(20, 20, **options)


def test_register_backward() -> None:
    x, w = inputs(requires_grad=True)
    got, expected = (torch.autograd.grad(function(x, w), (x, w)) for function in (layer, layer_by_torch))
    torch.testing.assert_close(got, expected, **CLOSE)


def test_register_autograd() -> None:
    @wave_runtime.define_op("wave_test::add_scaled")
    def add_scaled(a: Tensor, b: Tensor, scale: float = 1.0, *, bias: int = 0) -> Tensor:
        c = torch.empty_like(a)
        launch_add(a * scale, b, c)
        return c + bias

    def setup_context(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Tensor) -> None:
        assert keyword_only_inputs == {"bias": 3}
        ctx.scale = inputs[2]

    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        return grad * ctx.scale, grad, None

    add_scaled.register_autograd(backward, setup_context=setup_context)
    a, b = (torch.randn(30, requires_grad=True) for _ in range(2))
    result = add_scaled(a, b, 2.0, bias=3)
    torch.testing.assert_close(result, a * 2 + b + 3)
    result.sum().backward()
    assert torch.equal(a.grad, torch.full((30,), 2.0))
    assert torch.equal(b.grad, torch.ones(30))


def test_scalars_of_register_backward() -> None:
    @wave_runtime.define_op("wave_test::scaled")
    def scaled(scale: float, a: Tensor, n: int = 1) -> Tensor:
        return a * scale * n

    @scaled.register_backward
    def _(grad: Tensor, scale: float, a: Tensor, n: int) -> tuple[None, Tensor]:
        return None, grad * scale * n

    a = torch.randn(4, requires_grad=True)
    assert torch.autograd.grad(scaled(3.0, a, 2).sum(), a)[0].tolist() == [6.0] * 4
    assert torch.autograd.grad(scaled(3.0, a).sum(), a)[0].tolist() == [3.0] * 4
    scaled.register_backward(lambda grad, *inputs: (None, grad, None, None))
    with pytest.raises(ValueError, match="its backward returned 4 gradients, but it has 3 inputs"):
        scaled(3.0, a).sum().backward()


@pytest.mark.parametrize("position", [0, 1])
def test_without_a_derivative(position: int) -> None:
    tensors = [torch.randn(8), torch.randn(8)]
    tensors[position].requires_grad_()
    message = (
        r"operator 'wave_test::add': a tensor requires grad, but the operator has no derivative.*register_backward"
    )
    with pytest.raises(RuntimeError, match=message):
        add(*tensors)
    with torch.no_grad():
        assert torch.equal(add(*tensors), tensors[0] + tensors[1])
    with pytest.raises(RuntimeError, match="operator 'wave_test::add_out': a tensor requires grad"):
        add_out(*tensors, out=torch.empty(8))


def test_forward_mode_tangents_raise() -> None:
    a = torch.randn(8)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a, torch.ones_like(a))
        with pytest.raises(RuntimeError, match="carries a forward-mode tangent"):
            add(dual, a)


def test_double_backward() -> None:
    """It works where the backward's operators have derivatives, and else says whose is missing."""
    x, w = inputs(requires_grad=True)
    (grad,) = torch.autograd.grad(matmul(x, w.T).square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.square().sum(), w)
    (by_torch,) = torch.autograd.grad((x @ w.T).square().sum(), x, create_graph=True)
    torch.testing.assert_close(second, torch.autograd.grad(by_torch.square().sum(), w)[0], **CLOSE)
    (grad,) = torch.autograd.grad(twice(x).sum(), x, create_graph=True)
    message = "operator 'wave_test::twice_backward', which a backward calls, has no derivative, which double backward"
    with pytest.raises(RuntimeError, match=message):
        grad.sum().backward()


def test_operators_that_write_have_no_derivative() -> None:
    with pytest.raises(ValueError, match=r"operator 'wave_test::add_out' writes to out: a derivative needs"):
        add_out.register_autograd(lambda ctx, *grads: None)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint(use_reentrant: bool) -> None:
    x, w = inputs(requires_grad=True)
    got = checkpoint(layer, x, w, use_reentrant=use_reentrant)
    got.backward()
    torch.testing.assert_close((x.grad, w.grad), torch.autograd.grad(layer_by_torch(x, w), (x, w)), **CLOSE)


def test_selective_checkpoint() -> None:
    """What the policy has saved is not computed again."""
    x, w = inputs(requires_grad=True)
    launches: list[str] = []
    for saved, expected in ([], 2 + 2), ([matmul.overload], 1 + 2):
        contexts = functools.partial(create_selective_checkpoint_contexts, saved)
        launches.clear()
        with wave_runtime.hooks.launch_hook(enter=lambda event: launches.append(event.kernel)):
            checkpoint(layer, x, w, use_reentrant=False, context_fn=contexts).backward()
        assert launches.count("matmul_naive") == expected


def test_functorch() -> None:
    x, w = inputs()
    got, expected = (torch.func.grad(function, (0, 1))(x, w) for function in (layer, layer_by_torch))
    torch.testing.assert_close(got, expected, **CLOSE)
    value, pullback = torch.func.vjp(layer, x, w)
    torch.testing.assert_close(value, layer_by_torch(x, w))
    torch.testing.assert_close(pullback(torch.tensor(1.0)), expected, **CLOSE)


def test_functorch_differentiates_twice() -> None:
    x, w = inputs()

    def second(product: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        first = torch.func.grad(lambda x: product(product(x, w), x).sum())
        result: Tensor = torch.func.grad(lambda x: first(x).square().sum())(x)
        return result

    torch.testing.assert_close(second(matmul), second(torch.mm), rtol=1e-4, atol=1e-1)  # of numbers up to 2e4


def test_functorch_forward_over_reverse_raises() -> None:
    x, w = inputs()
    gradient = torch.func.grad(lambda x: matmul(x, w).square().sum())
    for transform in (lambda: torch.func.jvp(gradient, (x,), (x,)), lambda: torch.func.jvp(matmul, (x, w), (x, w))):
        with pytest.raises(RuntimeError, match="carries a forward-mode tangent"):
            transform()


def test_lists() -> None:
    @wave_runtime.define_op("wave_test::add_all")
    def add_all(tensors: list[Tensor], weights: list[float]) -> tuple[Tensor, list[Tensor]]:
        return tensors[0] + tensors[1], [tensor * weight for tensor, weight in zip(tensors, weights, strict=True)]

    @add_all.register_backward
    def _(grad: Tensor, grads: list[Tensor], tensors: list[Tensor], weights: list[float]) -> tuple[list[Tensor], None]:
        return [grad + g * weight for g, weight in zip(grads, weights, strict=True)], None

    a, b = (torch.randn(3, requires_grad=True) for _ in range(2))
    total, scaled = add_all([a, b], [2.0, 3.0])
    assert isinstance(scaled, list)
    assert torch.autograd.grad((total + scaled[0]).sum(), (a, b))[0].tolist() == [3.0] * 3
    total, scaled = add_all([a, b], [2.0, 3.0])
    assert torch.autograd.grad((total + 2 * scaled[1]).sum(), (a, b))[1].tolist() == [7.0] * 3


@wave_runtime.define_op("wave_test::sum_of_list")
def sum_of_list(tensors: list[Tensor], weight: Tensor) -> Tensor:
    return torch.stack(tensors).sum(0) * weight


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (lambda g: ([g, g, g], None), r"3 gradients for 'tensors', a list of 2$"),
        (lambda g: ([g], g, None), "returned 3 gradients, but it has 2 inputs"),
        (lambda g: (g, g), r"for 'tensors', a list of 2, the gradient of a tensor: return a list or None$"),
        (lambda g: (None, [g]), r"for 'weight' a list of gradients, but it is no list$"),
    ],
)
def test_gradients_of_another_form_than_the_inputs(gradients: Callable[[Tensor], Any], message: str) -> None:
    """They would go to the inputs behind."""
    sum_of_list.register_backward(lambda grad, tensors, weight: gradients(grad))
    tensors, weight = [torch.ones(3, requires_grad=True) for _ in range(2)], torch.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match=rf"operator 'wave_test::sum_of_list': its backward.*{message}"):
        sum_of_list(tensors, weight).sum().backward()


def test_gradients_may_be_a_list() -> None:
    a, b = (torch.randn(16, 16, requires_grad=True) for _ in range(2))

    @wave_runtime.define_op("wave_test::listed_gradients")
    def listed(a: Tensor, b: Tensor) -> Tensor:
        return a * b

    listed.register_backward(lambda grad, a, b: [grad * b, grad * a])
    listed(a, b).sum().backward()
    assert torch.equal(a.grad, b)  # type: ignore[arg-type]
    assert torch.equal(b.grad, a)  # type: ignore[arg-type]


def test_saved_inputs_that_are_written_raise_in_backward() -> None:
    x, w = inputs(requires_grad=True)
    result = matmul(x, w.T)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_autocast() -> None:
    @wave_runtime.define_op("wave_test::product")
    def product(a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    a, b = torch.randn(8, 8), torch.randn(8, 8)
    product.register_autocast(torch.bfloat16)
    assert product(a, b).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert product(a, b).dtype == torch.bfloat16
        assert product(a.double(), b.double()).dtype == torch.float64
        with torch.autocast("cpu", enabled=False):
            assert product(a, b).dtype == torch.float32


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        (add, (torch.randn(50), torch.randn(50))),
        (matmul, (torch.randn(6, 6, requires_grad=True), torch.randn(6, 6, requires_grad=True))),
        (twice, (torch.randn(50, requires_grad=True),)),
        (twice_backward, (torch.randn(50), torch.randn(50))),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_opcheck(op: wave_runtime.Operator, arguments: tuple[Tensor, ...]) -> None:
    torch.library.opcheck(op.overload, arguments)


def test_opcheck_of_an_operator_that_writes() -> None:
    arguments = {"out": torch.empty(50)}
    torch.library.opcheck(add_out.overload, (torch.randn(50), torch.randn(50)), arguments)


@pytest.mark.parametrize("declared", [False, True])
def test_gradients_of_numbers_are_not_lost(declared: bool) -> None:
    """The dispatcher would make a float of the tensor."""
    signature = {"scale": "x: *f32 const, y: *f32, factor: f32, n: i32"}
    kernel = wave_runtime.load(ROOT / "tests/code_object/corpus/clang_v5_gfx942.co", signature=signature)["scale"]
    if declared:
        outputs, grid = {"y": lambda x: x.new_empty(x.shape)}, lambda x: cdiv(x.numel(), 64)
        arguments = {"n": lambda x: x.numel()}
        scale = wave_runtime.define_op(
            "wave_test::scaled", kernel, outputs=outputs, arguments=arguments, grid=grid, block=64
        )
    else:

        @wave_runtime.define_op("wave_test::scaled")
        def scale(x: Tensor, factor: float) -> Tensor:
            y = torch.empty_like(x)
            kernel(x, y, factor, x.numel(), grid=cdiv(x.numel(), 64), block=64)
            return y

    x, factor = torch.randn(100), torch.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="'wave_test::scaled', argument 'factor': a tensor that has a derivative"):
        scale(x, factor)
    with pytest.raises(RuntimeError, match="argument 'factor'"):
        torch.func.grad(lambda factor: scale(x, factor=factor).sum())(factor.detach())
    for call in (torch.ops.wave_test.scaled, torch.ops.wave_test.scaled.default):
        with pytest.raises(RuntimeError, match="argument 'factor'"):
            call(x, factor)
    assert torch.equal(scale(x, factor.item()), 2 * x)
    with torch.no_grad():
        assert torch.equal(scale(x, factor), 2 * x)


def test_gradients_of_numbers_are_not_lost_by_operators_of_one_kernel() -> None:
    signature = {"scale": "x: *f32 const, y: *f32, factor: f32, n: i32"}
    kernel = wave_runtime.load(ROOT / "tests/code_object/corpus/clang_v5_gfx942.co", signature=signature)["scale"]
    scale = kernel.as_operator("wave_test::scale_alone", block=64)
    x, y, factor = torch.randn(50), torch.zeros(50), torch.tensor(2.0, requires_grad=True)
    message = "kernel 'scale': a tensor requires grad, but a launch has no derivative"
    for call in (scale, torch.ops.wave_test.scale_alone, lambda x, y, f, n, g: scale(x, y, factor=f, n=n, grid_x=g)):
        with pytest.raises(RuntimeError, match=message):
            call(x, y, factor, 50, 1)
        assert not y.any()
        call(x, y, factor.detach(), 50, 1)
        assert torch.equal(y, 2 * x)
        with torch.no_grad():
            call(x, y.zero_(), factor, 50, 1)
        assert torch.equal(y, 2 * x)
        y.zero_()
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="carries a forward-mode tangent"):
        scale(x, y, forward_ad.make_dual(factor.detach(), torch.tensor(1.0)), 50, 1)


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_keyword_only_tensors_are_not_lost(compiled: bool) -> None:
    """A backward returns gradients of what is given by place."""

    @wave_runtime.define_op("wave_test::keyword_add")
    def keyword_add(a: Tensor, *, b: Tensor) -> Tensor:
        return add.body(a, b)

    keyword_add.register_autograd(lambda ctx, grad: grad)
    function = torch.compile(keyword_add, backend="aot_eager") if compiled else keyword_add
    a, b = torch.randn(100), torch.randn(100)
    for first in (a, a.clone().requires_grad_()):
        with pytest.raises(RuntimeError, match="argument 'b': the tensor requires grad, but is keyword-only"):
            function(first, b=b.clone().requires_grad_())
    a.requires_grad_()
    function(a, b=b).sum().backward()
    assert torch.equal(a.grad, torch.ones(100))
