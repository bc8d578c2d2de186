"""The largest of rows: csrc/py_itfs_cu/asm_topksoftmax.cu and asm_topk_per_row_*.cu."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from launches import Case, Launch, Row, Value


def choice(row: Row) -> Launch:
    """asm_topksoftmax.cu: the largest of the softmax of each row, and which they are."""
    experts, count, rows = int(row["num_experts"]), int(row["topk"]), int(row["subm"])
    n = rows + 1
    codes = torch.stack([torch.randperm(experts) for _ in range(n)]) + 0x3F80  # of bf16 from 1 on, no two equal
    gating = (
        codes.to(torch.int16).view(torch.bfloat16).to({"fp32": torch.float32, "bf16": torch.bfloat16}[row["dtype"]])
    )
    weights, indices = torch.zeros(n, count), torch.zeros(n, count, dtype=torch.int32)
    wanted = gating.float().softmax(-1).topk(count)
    both = torch.cat([wanted.values / wanted.values.sum(-1, keepdim=True), wanted.indices.float()], 1)
    arguments = [indices, weights, gating, n, experts, count, 1, 4 * count]
    return Launch(arguments, (-(-n // rows), 1, 1), (weights, indices), both)


LARGEST = 2048


def rows_of_logits() -> tuple[torch.Tensor, torch.Tensor]:
    """Three rows, no two elements of one equal, and which of the first 3,000 of each are the largest."""
    logits = torch.stack([torch.randperm(3072).float() for _ in range(3)]) / 64 - 20
    return logits, logits[:, :3000].topk(LARGEST).indices.sort(1).values


def decoded_choice() -> Launch:
    """top_k_per_row_decode_fast: of each row the largest 2,048, in any order."""
    logits, expected = rows_of_logits()
    indices = torch.zeros(3, LARGEST, dtype=torch.int32)
    arguments: list[Value] = [logits, torch.full((3,), 3000, dtype=torch.int32), indices, logits.stride(0), 1, 1]
    return Launch(
        arguments, (3, 1, 1), (indices,), expected, block=1024, found=lambda: indices.sort(1).values, is_tight=True
    )


def prefilled_choice() -> Launch:
    """top_k_per_row_prefill_fast: the same of a part of each row."""
    logits, expected = rows_of_logits()
    indices = torch.zeros(3, LARGEST, dtype=torch.int32)
    work, begins = torch.zeros(3 * LARGEST * 2, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    values = torch.zeros(3, LARGEST)
    ends = begins + 3000
    arguments: list[Value] = [work, logits, begins, ends, indices, values, logits.stride(0), 1]
    return Launch(
        arguments,
        (3, 1, 1),
        (indices,),
        expected,
        (work, values),
        block=1024,
        found=lambda: indices.sort(1).values,
        is_tight=True,
    )


def decoded_choices(folder: Path) -> Iterator[Case]:
    yield Case(folder / "asm_top_k_per_row_decode.co", "", decoded_choice, 0)


def prefilled_choices(folder: Path) -> Iterator[Case]:
    yield Case(folder / "asm_top_k_per_row_prefill.co", "", prefilled_choice, 0)
