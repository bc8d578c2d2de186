"""The first product of mixtures of experts: csrc/py_itfs_cu/asm_moe_2stage.cu."""

from __future__ import annotations

import torch
from experts import random_factor, sorted_tokens
from launches import Launch, Row, Value, shuffled


def first_stage(row: Row) -> Launch:
    """act(x gate) * (x up) of each token and each of its two of three experts, [token, slot, inner].

    With `doweight` x is multiplied by the expert's weight. With scales of blocks the result is FP8, with a scale for
    128, behind the result.
    """
    has_blocks, is_weighted = "blockscale" in row["list"], "doweight" in row["list"]
    kind = "Int8" if "Int8" in row["list"] else "Fp8"
    tokens, topk, count, depth, inner, block = 5, 2, 3, 512, int(row["tile_n"]), int(row["tile_m"])
    if has_blocks:
        inner = max(inner, 128)
    x, gate_up = (
        random_factor(kind, row["processor"], *shape) for shape in ((tokens, depth), (count, 2 * inner, depth))
    )
    size = (1.0 if kind == "Fp8" else 1 / 64) / 16
    if has_blocks:
        scales = [
            size * (0.5 + torch.rand(*shape)) for shape in ((tokens, depth // 128), (count, inner // 64, depth // 128))
        ]
        values = [
            x.float() * scales[0].repeat_interleave(128, 1),
            gate_up.float() * scales[1].repeat_interleave(128, 1).repeat_interleave(128, 2),
        ]
        scales[0] = scales[0].T.contiguous()
    else:
        scales = [size * (0.5 + torch.rand(*shape)) for shape in ((tokens, 1), (count, 2 * inner, 1))]
        values = [value.float() * scale for value, scale in zip((x, gate_up), scales, strict=True)]
    chosen, weights = torch.stack([torch.randperm(count)[:topk] for _ in range(tokens)]), torch.rand(tokens, topk)
    ids, shares, uses = sorted_tokens(chosen, weights, count, block)
    expected = torch.zeros(tokens, topk, inner)
    for expert, token, slot in uses:
        hidden = values[1][expert] @ values[0][token] * (weights[token, slot] if is_weighted else 1)
        expected[token, slot] = torch.nn.functional.silu(hidden[:inner]) * hidden[inner:]

    out = torch.zeros(tokens, topk, inner).bfloat16()
    if has_blocks:
        out = torch.zeros(tokens + -(-tokens * 4 // 128), topk, inner).to(x.dtype)
    valid = torch.tensor([ids.numel(), tokens], dtype=torch.int32)
    gate_up = torch.stack([shuffled(one, "1") for one in gate_up])
    arguments: list[Value] = [out, x, gate_up, valid, *scales, 0, ids, torch.arange(count, dtype=torch.int32)]
    arguments += [depth, inner, tokens, count, depth, depth, out.stride(0) * out.element_size(), 2 * inner * depth]
    arguments += [scales[1].stride(0) * 4, 4 * inner, topk, 0, 0, shares if is_weighted else 0]

    def found() -> torch.Tensor:
        if not has_blocks:
            return out
        behind = out[tokens:].view(torch.uint8).flatten()[: tokens * topk * inner // 32].view(torch.float32)
        return out[:tokens].float() * behind.view(tokens, topk, -1).repeat_interleave(128, 2)

    grid = (inner // int(row["tile_n"]), count, 1)
    return Launch(arguments, grid, (out,), expected, slack=1 << 16, found=found)
