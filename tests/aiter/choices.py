"""The largest of rows: csrc/py_itfs_cu/asm_topksoftmax.cu and asm_topk_per_row_*.cu."""

from __future__ import annotations

import torch
from launches import Launch, Row


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
