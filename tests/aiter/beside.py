"""The code objects that lie beside the folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import experts
import torch
from launches import Case, Launch, Row, Value, shuffled
from paged import TOLERANCES, decode

PAGED = re.compile(r"pa_a16w(?P<width>8|16)_(?P<words>\w+)")


def row_of(name: str) -> Row | None:
    """Of an older kernel for paged attention what the list of newer ones would say.

    Those that are not for eight heads of q (`g8`) have no host code.
    """
    match = PAGED.fullmatch(name)
    if match is None or "g8" not in match["words"]:
        return None
    words = match["words"].split("_")
    q = "fp16" if words[0] == "f16" or "q_fp16" in name else "bf16"
    kv = q if match["width"] == "16" else "fp8" if "f8" in words else "int8"
    return {"qType": q, "kvType": kv, "Gqa": "8", "Mtp": "0", "Msk": "0", "blkSz": "16", "processor": "gfx942"}


def older_decode(row: Row) -> Launch:
    """The heads of q that share one are where newer kernels have `mtp`."""
    made = decode(row)
    made.arguments[14] = int(row["Gqa"])
    return made


def flat_product() -> Launch:
    """asm_flatmm_a8w8_blockscale.cu: FP8 with scales of 128 of rows of A, and of 128 x 128 of B."""
    m, n, k = 128, 256, 512
    a, b = (torch.randn(rows, k).to(torch.float8_e4m3fnuz) for rows in (m, n))
    a_scales, b_scales, out = torch.rand(k // 128, m), torch.rand(k // 128, n // 128), torch.zeros(m, n).half()
    x = a.float() * a_scales.T.repeat_interleave(128, 1)
    y = b.float() * b_scales.T.repeat_interleave(128, 0).repeat_interleave(128, 1)
    nothing = torch.zeros(1)
    arguments: list[Value] = [a, shuffled(b, "1"), nothing, a_scales, b_scales, nothing, out, *[nothing] * 4, k, n, m]
    return Launch([*arguments, 0, 0, 0], (1, 1, 1), (out,), x @ y.T, is_tight=True)


def beside(folder: Path) -> Iterator[Case]:
    """Of a processor's folder, those that lie in it."""
    for file in sorted(folder.glob("*.co")):
        yield from experts.cases_of(file, folder.name)
        row = row_of(file.stem)
        if row is not None:
            yield Case(file, "", partial(older_decode, row), TOLERANCES[row["kvType"]])
        if file.stem.startswith("flatmm"):
            yield Case(file, "", flat_product, 2**-7)
