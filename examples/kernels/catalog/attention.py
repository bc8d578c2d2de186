"""Attention and its gradients."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import wave_runtime

from .base import Example, Tensors, as_tuple, cdiv, load

ROWS = 64  # of a workgroup
FP8 = torch.float8_e4m3fnuz
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}

Attention = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Tensors]


def attention(binary: str, dtype: str = "f16") -> Attention:
    """softmax(Q @ K.T / sqrt(D)) @ V as f32, and the log of the sum that softmax divides by.

    Q has shape [batch, heads, M, D], K and V [batch, kv heads, N, D].
    """
    pointers = ", ".join([f"*{dtype} const"] * 3)
    kernel = load(binary, f"{pointers}, *f32, *f32, i64, i64, i64, i64")

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Tensors:
        (batch, heads, m, _), (_, kv_heads, n, _) = q.shape, k.shape
        out, lse = torch.empty_like(q, dtype=torch.float32), q.new_empty(batch, heads, m, dtype=torch.float32)
        sizes = (batch * heads, batch * kv_heads, m, n)
        kernel(q, k, v, out, lse, *sizes, grid=(cdiv(m, ROWS), 1, batch * heads))
        return out, lse

    return run


def attention_by_torch(*, causal: bool) -> Callable[..., torch.Tensor]:
    """Attention by torch, in f32."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal, enable_gqa=True)

    return run


def attention_reference(*, causal: bool) -> Attention:
    """The same from products in f32, which torch's attention on a GPU may round otherwise; and the log of the sum."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Tensors:
        k, v = (x.float().repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
        scores = q.float() @ k.mT * q.shape[-1] ** -0.5
        if causal:
            scores += torch.full_like(scores, -torch.inf).triu(1)
        return scores.softmax(-1) @ v, scores.logsumexp(-1)

    return run


def trainable_attention(forward: str, backward_q: str, backward_kv: str) -> wave_runtime.Operator:
    """Attention of f16 as f32 and the log of the sum, with gradients from kernels."""
    launch = attention(forward)
    inputs = "*f16 const, *f16 const, *f16 const, *f16 const, *f32 const, *f32 const"
    q_kernel = load(backward_q, f"{inputs}, *f32, i64, i64, i64")
    kv_kernel = load(backward_kv, f"{inputs}, *f32, *f32, i64, i64, i64")

    name = re.sub(r"\W", "_", forward)  # which may be a path

    @wave_runtime.define_op(f"wave_examples::{name}")
    def attend(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        out, lse = launch(q, k, v)
        return out, lse

    @wave_runtime.define_op(f"wave_examples::{name}_backward")
    def attend_backward(
        grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        heads, m, n = q.shape[0] * q.shape[1], q.shape[2], k.shape[2]
        saved = (q, k, v, grad.half().contiguous(), lse, (out * grad).sum(-1))
        q_grad, k_grad, v_grad = (torch.empty_like(x, dtype=torch.float32) for x in (q, k, v))
        q_kernel(*saved, q_grad, heads, m, n, grid=(cdiv(m, ROWS), 1, heads))
        kv_kernel(*saved, k_grad, v_grad, heads, m, n, grid=(cdiv(n, ROWS), 1, heads))
        return q_grad, k_grad, v_grad

    def save(ctx: Any, inputs: Tensors, output: Tensors) -> None:
        ctx.save_for_backward(*inputs, *output)

    def backward(ctx: Any, grad: Tensor, _: Tensor) -> Any:
        return attend_backward(grad, *ctx.saved_tensors)

    attend.register_autograd(backward, setup_context=save)
    return attend


def gradients(function: Callable[..., torch.Tensor | Tensors]) -> Callable[..., Tensors]:
    """Those of all inputs but the last, which is the gradient of the first result."""

    def run(*tensors: torch.Tensor) -> Tensors:
        leaves = [x.detach().requires_grad_() for x in tensors[:-1]]
        return torch.autograd.grad(as_tuple(function(*leaves))[0], leaves, tensors[-1])

    return run


def quantise(x: torch.Tensor) -> Tensors:
    """As FP8 with a scale of each head, [batch, heads]."""
    scale = x.abs().amax((2, 3)) / torch.finfo(FP8).max
    return (x / scale[..., None, None]).to(FP8), scale


def attention_fp8(binary: str) -> Callable[..., torch.Tensor]:
    """Attention of quantised Q, K and V of as many heads each, as f32."""
    inputs = ", ".join(["*f8e4m3fnuz const"] * 3)
    kernel = load(binary, f"{inputs}, *f32 const, *f32 const, *f32, i64, i64, i64, i64")

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: torch.Tensor) -> torch.Tensor:
        heads, (m, head_dim), n = q.shape[0] * q.shape[1], q.shape[2:], k.shape[2]
        q_scale, k_scale, v_scale = scales
        out = torch.empty_like(q, dtype=torch.float32)
        factors = (q_scale * k_scale * head_dim**-0.5, v_scale)
        kernel(q, k, v, *factors, out, heads, heads, m, n, grid=(cdiv(m, ROWS), 1, heads))
        return out

    return run


def attention_fp8_reference(*, causal: bool) -> Callable[..., torch.Tensor]:
    """The same of what was quantised, in f32. The kernel quantises the weights, too, to three bits of fraction."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *scales: torch.Tensor) -> torch.Tensor:
        tensors = (x.float() * scale[..., None, None] for x, scale in zip((q, k, v), scales, strict=True))
        return attention_by_torch(causal=causal)(*tensors)

    return run


def qkv(dtype: torch.dtype, *, head_dim: int = 64, kv_group: int = 1) -> Callable[..., Tensors]:
    """Makes inputs."""

    def make(batch: int, heads: int, m: int, n: int) -> Tensors:
        kv_shape = (batch, heads // kv_group, n, head_dim)
        return tuple(torch.randn(shape).to(dtype) for shape in ((batch, heads, m, head_dim), kv_shape, kv_shape))

    return make


def qkv_and_gradient(*, head_dim: int = 64) -> Callable[..., Tensors]:
    """Makes inputs of the backward pass."""

    def make(batch: int, heads: int, m: int, n: int) -> Tensors:
        q, k, v = qkv(torch.float16, head_dim=head_dim)(batch, heads, m, n)
        return q, k, v, torch.randn(q.shape)

    return make


def quantised_qkv(*, head_dim: int = 64) -> Callable[..., Tensors]:
    """Makes inputs in FP8, then their scales."""

    def make(batch: int, heads: int, m: int, n: int) -> Tensors:
        tensors = qkv(torch.float32, head_dim=head_dim)(batch, heads, m, n)
        values, scales = zip(*(quantise(x) for x in tensors), strict=True)
        return (*values, *scales)

    return make


# Probabilities of three bits of mantissa: single results are off by a lot, all together by 2 %.
FP8_SHARE = 3e-2
# Batch, heads, M, N.
SIZES = ((1, 4, 128, 128), (2, 1, 1, 1), (1, 2, 65, 33), (1, 1, 31, 100))
GROUPED = ((1, 8, 128, 128), (2, 4, 3, 70))


def _forward(name: str, dtype: str = "f16", kv_group: int = 1, head_dim: int = 64) -> Example:
    return Example(
        name,
        attention(name, dtype),
        attention_reference(causal=name.endswith("_causal")),
        qkv(TYPES[dtype], head_dim=head_dim, kv_group=kv_group),
        GROUPED if kv_group > 1 else SIZES,
        tolerance=2e-3 if dtype == "f16" else 2e-2,
    )


def _backward(suffix: str) -> Example:
    binaries = (f"attention_backward_q{suffix}", f"attention_backward_kv{suffix}")
    return Example(
        f"attention_backward{suffix}",
        gradients(trainable_attention(f"attention_f16{suffix}", *binaries)),
        gradients(attention_by_torch(causal=suffix == "_causal")),
        qkv_and_gradient(),
        SIZES,
        tolerance=1e-2,
        binaries=binaries,
    )


def _fp8(name: str) -> Example:
    reference = attention_fp8_reference(causal=name.endswith("_causal"))
    return Example(name, attention_fp8(name), reference, quantised_qkv(), SIZES, tolerance=1e-1, share=FP8_SHARE)


EXAMPLES = (
    _forward("attention_f16"),
    _forward("attention_f16_causal"),
    _forward("attention_f16_gqa4", kv_group=4),
    _forward("attention_f16_gqa4_causal", kv_group=4),
    _forward("attention_bf16_128_causal", dtype="bf16", head_dim=128),
    _fp8("attention_fp8"),
    _fp8("attention_fp8_causal"),
    _backward(""),
    _backward("_causal"),
)
