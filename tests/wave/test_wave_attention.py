"""Attention, convolutions and mixtures of experts: types, masks, heads, and what else a kernel of one kind knows."""

from __future__ import annotations

from itertools import product

import pytest
from catalog import attention, check_close, convolution, moe
from wave_support import Compile, grid

HEAD_DIMS = (64, 32, 128)


@pytest.mark.parametrize(
    ("dtype", "causal", "head_dim", "group"),
    grid(product(("f16", "bf16"), (True, False), HEAD_DIMS, (1, 2, 8))),
)
def test_forward(compile_wave: Compile, dtype: str, causal: bool, head_dim: int, group: int) -> None:
    arguments = f"tkl.{dtype}, head_dim={head_dim}, causal={causal}, group={group}"
    run = attention.attention(compile_wave(f"attention.forward({arguments})"), dtype)
    inputs = attention.qkv(attention.TYPES[dtype], head_dim=head_dim, kv_group=group)
    for m, n in ((64, 64), (65, 33), (1, 100)):
        tensors = inputs(1, 8, m, n)
        for got, expected in zip(run(*tensors), attention.attention_reference(causal=causal)(*tensors), strict=True):
            check_close(got, expected, 2e-3 if dtype == "f16" else 2e-2)


@pytest.mark.parametrize(("causal", "head_dim"), grid(product((True, False), HEAD_DIMS)))
def test_quantised(compile_wave: Compile, causal: bool, head_dim: int) -> None:
    path = compile_wave(f"attention.forward(tkl.f8e4m3fnuz, head_dim={head_dim}, causal={causal})")
    for m, n in ((64, 64), (65, 33), (1, 100)):
        tensors = attention.quantised_qkv(head_dim=head_dim)(1, 2, m, n)
        expected = attention.attention_fp8_reference(causal=causal)(*tensors)
        check_close(attention.attention_fp8(path)(*tensors), expected, 0.1, attention.FP8_SHARE)


@pytest.mark.long
@pytest.mark.parametrize(("causal", "head_dim"), grid(product((True, False), HEAD_DIMS)))
def test_gradients(compile_wave: Compile, causal: bool, head_dim: int) -> None:
    options = f"head_dim={head_dim}, causal={causal}"
    calls = (f"forward(tkl.f16, {options})", f"backward_q({options})", f"backward_kv({options})")
    run = attention.trainable_attention(*(compile_wave(f"attention.{call}") for call in calls))
    for m, n in ((64, 64), (65, 33), (1, 100)):
        tensors = attention.qkv_and_gradient(head_dim=head_dim)(1, 2, m, n)
        expected = attention.gradients(attention.attention_by_torch(causal=causal))(*tensors)
        for got, by_torch in zip(attention.gradients(run)(*tensors), expected, strict=True):
            check_close(got, by_torch, 1e-2)


@pytest.mark.parametrize(
    ("window", "depth"), grid(product(((3, 2), (3, 1), (1, 1), (2, 3)), ((32, 64), (4, 16), (8, 100))))
)
def test_convolution(compile_wave: Compile, window: tuple[int, int], depth: tuple[int, int]) -> None:
    (size, stride), (channels, filters) = window, depth
    options = f"channels={channels}, filters={filters}, size={size}, stride={stride}"
    run = convolution.conv2d(compile_wave(f"convolution.conv2d({options})"), stride=stride)
    for shape in ((2, 9, 12), (1, size, size)):
        tensors = convolution.images_and_filters(channels, filters, size)(*shape)
        expected = convolution.conv2d_reference(stride=stride)(*tensors)
        check_close(run(*tensors), expected, 1e-3)


@pytest.mark.parametrize("slots", grid((slots,) for slots in (2, 1, 3, 8)))
def test_mixture_of_experts(compile_wave: Compile, slots: int) -> None:
    run = moe.moe_gemm(compile_wave(f"moe.moe_gemm(slots={slots})"))
    for tokens, columns, depth in ((70, 128, 64), (1, 10, 20)):
        tensors = moe.routed_tokens(tokens, columns, depth, slots)
        check_close(run(*tensors), moe.moe_gemm_reference(*tensors), 1e-3)
