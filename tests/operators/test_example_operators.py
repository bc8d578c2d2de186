"""The operators that the examples define, tried as torch.library.opcheck does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import catalog.attention
import pytest
import sharded_gemm
import torch
import training_operators
from torch import Tensor

import wave_runtime
from wave_runtime._op import _operator


def half(*shape: int, **options: Any) -> Tensor:
    return torch.randn(shape).half().requires_grad_(**options)


def bf16(*shape: int) -> Tensor:
    return torch.randn(shape).bfloat16().requires_grad_()


def attention_inputs() -> tuple[Tensor, ...]:
    return half(1, 2, 20, 64), half(1, 2, 30, 64), half(1, 2, 30, 64)


def attention_backward_inputs() -> tuple[Tensor, ...]:
    heads = torch.randn(1, 2, 20, 64), *(tensor.detach() for tensor in attention_inputs())
    return *heads, torch.randn(1, 2, 20, 64), torch.randn(1, 2, 20)


INPUTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "sharded::gemm": lambda: (half(20, 40, requires_grad=False), half(30, 40, requires_grad=False)),
    "tiny::matmul": lambda: (bf16(2, 20, 40), bf16(2, 30, 40), "nt"),
    "tiny::rmsnorm": lambda: (torch.randn(8, 40, requires_grad=True), torch.randn(40, requires_grad=True)),
    "tiny::rmsnorm_backward": lambda: (bf16(8, 40).detach(), torch.randn(8, 40), torch.randn(40)),
    "wave_examples::attention_f16": attention_inputs,
    "wave_examples::attention_f16_backward": attention_backward_inputs,
    "wave_examples::attention_f16_causal": attention_inputs,
    "wave_examples::attention_f16_causal_backward": attention_backward_inputs,
}


@pytest.mark.parametrize("name", INPUTS)
def test_opcheck(name: str) -> None:
    op = _operator.find(name)
    torch.library.opcheck(op.overload, INPUTS[name](), rtol=2e-2, atol=2e-2)


def test_all_are_tried() -> None:
    modules = (catalog.attention, sharded_gemm, training_operators)
    own = {
        value.name for module in modules for value in vars(module).values() if isinstance(value, wave_runtime.Operator)
    }
    of_attention = {name for name in _operator._operators if name.startswith("wave_examples::attention")}
    assert own | of_attention == set(INPUTS)
