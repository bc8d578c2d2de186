"""Mixtures of experts in FP4 with scales of 32: csrc/py_itfs_cu/asm_fmoe.cu, fmoe_g1u1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from experts import ADDS_BITS, sorted_tokens
from launches import Case, Launch, Value, shuffled
from products import FP4, shuffled_scales

NEW = re.compile(r"fmoe_(?P<out>bf16|fp16|f16)_pertokenMXfp4_g1u1_(?P<words>\w+)_(?P<m>\d+)x(?P<n>\d+)")
OLD = re.compile(r"fmoe_mxfp4_g1u1_(?P<words>vs)_subGU_(?P<n>\d+)")


def random_matrix(*shape: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Codes, two in a byte, scales of 32 columns, and what they are."""
    codes = torch.randint(256, (*shape[:-1], shape[-1] // 2), dtype=torch.uint8)
    scales = torch.randint(124, 131, (*shape[:-1], shape[-1] // 32), dtype=torch.uint8)
    values = FP4[torch.stack([codes & 15, codes >> 4], -1).flatten(-2).int()]
    return codes, scales, values * torch.exp2(scales.float() - 127).repeat_interleave(32, -1)


def experts(out_type: torch.dtype, act: str, inner: int, is_persistent: bool, adds_bits: bool) -> Launch:
    """Tokens x go to two of three experts, or to one as in experts.py; each gives act(x gate) * (x up) down."""
    tokens, topk, count, depth = 5, 1 if adds_bits else 2, 3, 1024
    x, x_scales, xs = random_matrix(tokens, depth)
    gate_up, gate_up_scales, gate_ups = random_matrix(count, 2 * inner, depth)
    down, down_scales, downs = random_matrix(count, depth, inner)
    gate_ups, gate_up_scales = gate_ups / 2**8, gate_up_scales - 8
    downs, down_scales = downs / 2**10, down_scales - 10
    chosen, weights = torch.stack([torch.randperm(count)[:topk] for _ in range(tokens)]), torch.rand(tokens, topk)
    ids, shares, uses = sorted_tokens(chosen, weights, count, 32)
    function = torch.nn.functional.silu if act == "silu" else torch.nn.functional.gelu
    expected = torch.zeros(tokens, depth)
    for expert, token, slot in uses:
        hidden = gate_ups[expert] @ xs[token]
        expected[token] += weights[token, slot] * (downs[expert] @ (function(hidden[:inner]) * hidden[inner:]))

    rows = (ids.flatten() & 0xFFFFFF).clamp(max=tokens - 1).long()  # mxfp4_moe_sort_fwd: in the order of the ids
    sorted_scales = shuffled_scales(x_scales[rows])
    factor_scales = [
        torch.stack([shuffled_scales(one) for one in matrix]).contiguous() for matrix in (gate_up_scales, down_scales)
    ]
    out, valid = torch.zeros(tokens, depth, dtype=out_type), torch.tensor([ids.numel(), tokens], dtype=torch.int32)
    gate_up, down = (torch.stack([shuffled(one, "1") for one in matrix]) for matrix in (gate_up, down))
    persistent = 8 if is_persistent else 0
    arguments: list[Value] = [out, x, gate_up, valid, down, sorted_scales, *factor_scales, 0, ids, shares]
    arguments += [torch.arange(count, dtype=torch.int32), depth, inner, tokens, count]
    arguments += [depth // 2, depth // 2, inner // 2, 2 * depth, inner * depth, inner * depth // 2]
    arguments += [factor_scales[0].stride(0), factor_scales[1].stride(0), 4 * inner, topk, persistent, 1]
    grid = (persistent, 1, 1) if persistent else (1, count, 1)
    result = out.view(torch.bfloat16) if adds_bits else out
    return Launch(arguments, grid, (result,), expected, slack=1 << 16)


def fp4_experts(folder: Path) -> Iterator[Case]:
    """Of all code objects of a folder that experts() launches."""
    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "f16": torch.float16}
    for file in sorted(folder.rglob("*.co")):
        match = NEW.fullmatch(file.stem) or OLD.fullmatch(file.stem)
        words = match["words"].split("_") if match else ["flat"]
        if match is None or "flat" in words:
            continue
        out_type = types[match.groupdict().get("out", "bf16")]
        act = "gelu" if "gelu" in words else "silu"
        adds_bits = out_type == torch.float16 and {"vs", "novs"}.isdisjoint(words)
        make = partial(experts, out_type, act, int(match["n"]), "ps" in words, adds_bits)
        # What is between the products is of four bits, too.
        yield Case(file, "", make, 2**-2, ADDS_BITS if adds_bits else "")
