"""torch.vmap of operators."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from operators_support import add, add_out, launch_add, matmul
from torch import Tensor

import wave_runtime


@wave_runtime.define_op("wave_test::batched_add")
def batched_add(a: Tensor, b: Tensor, scale: float = 1.0) -> tuple[Tensor, list[Tensor]]:
    """A * scale + B, and the same twice."""
    c = torch.empty_like(a)
    launch_add(a * scale, b, c)
    return c, [c + c]


@batched_add.register_backward
def _(grad: Tensor, grads: list[Tensor], a: Tensor, b: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    both = grad + 2 * grads[0]
    return both * scale, both


batched_add.register_vmap()


@wave_runtime.define_op("wave_test::batched_matmul")
def batched_matmul(a: Tensor, b: Tensor) -> Tensor:
    """A @ B of square matrices, or of batches of them."""
    if a.dim() == 2:
        return matmul.body(a, b)
    return torch.stack([matmul.body(x, y) for x, y in zip(a, b, strict=True)])


@batched_matmul.register_backward
def _(grad: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return batched_matmul(grad, b.mT), batched_matmul(a.mT, grad)


batched_matmul.register_vmap()


def test_without_a_rule() -> None:
    with pytest.raises(RuntimeError, match=r"operator 'wave_test::add' has no rule for torch\.vmap: give it one"):
        torch.vmap(add)(torch.randn(3, 5), torch.randn(3, 5))


def test_rule_of_the_user() -> None:
    @wave_runtime.define_op("wave_test::add_rows")
    def add_rows(a: Tensor, b: Tensor) -> Tensor:
        return add.body(a, b)

    @add_rows.register_vmap
    def _(info: Any, in_dims: tuple[int | None, ...], a: Tensor, b: Tensor) -> tuple[Tensor, int]:
        assert in_dims == (1, None)
        assert info.batch_size == 3
        return torch.stack([add_rows(row.contiguous(), b) for row in a.unbind(1)], 1), 1

    a, b = torch.randn(4, 3), torch.randn(4)
    assert torch.equal(torch.vmap(add_rows, in_dims=(1, None), out_dims=1)(a.view(4, 3), b), a + b[:, None])


@pytest.mark.parametrize("in_dims", [(0, 0), (1, 0), (0, None), (None, 0)])
def test_leading_batch(in_dims: tuple[int | None, int | None]) -> None:
    tensors = [torch.randn(50) if dim is None else torch.randn(4, 50).movedim(0, dim) for dim in in_dims]

    def function(a: Tensor, b: Tensor) -> tuple[Tensor, list[Tensor]]:
        return batched_add(a, b, scale=2.0)

    got = torch.vmap(function, in_dims)(*tensors)
    expected = torch.vmap(lambda a, b: (a * 2 + b, [a * 4 + 2 * b]), in_dims)(*tensors)
    torch.testing.assert_close(got, expected)
    assert isinstance(got[1], list)


def test_nested() -> None:
    a, b = torch.randn(3, 2, 6), torch.randn(2, 6)
    result = torch.vmap(torch.vmap(batched_add), in_dims=(0, None))(a, b)[0]
    torch.testing.assert_close(result, a + b)


def test_gradients_for_each_sample() -> None:
    w, x = torch.randn(6, 6), torch.randn(5, 6, 6)

    def loss(w: Tensor, x: Tensor) -> Tensor:
        return batched_matmul(x, w).square().sum()

    got = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)
    expected = torch.vmap(torch.func.grad(lambda w, x: (x @ w).square().sum()), in_dims=(None, 0))(w, x)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_jacobian() -> None:
    a, b = torch.randn(3, 3), torch.randn(3, 3)
    got, expected = (torch.func.jacrev(function)(a, b) for function in (batched_matmul, torch.mm))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_compiled() -> None:
    w, x = torch.randn(6, 6), torch.randn(5, 6, 6)

    def gradients(w: Tensor, x: Tensor) -> Tensor:
        loss = torch.func.grad(lambda w, x: batched_matmul(x, w).square().sum())
        return torch.vmap(loss, in_dims=(None, 0))(w, x)

    compiled = torch.compile(gradients, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(w, x), gradients(w, x))


def test_gradients_through_a_batch() -> None:
    w, x = torch.randn(6, 6, requires_grad=True), torch.randn(5, 6, 6, requires_grad=True)
    got = torch.vmap(batched_matmul, in_dims=(0, None))(x, w).square().sum()
    expected = (x @ w).square().sum()
    gradients = (torch.autograd.grad(value, (w, x)) for value in (got, expected))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_operators_that_write() -> None:
    with pytest.raises(ValueError, match=r"writes to out: register_vmap\(\) needs a function"):
        add_out.register_vmap()
