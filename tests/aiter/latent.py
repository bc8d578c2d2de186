"""Latent attention, whose keys and values are the same vectors: csrc/py_itfs_cu/asm_mla.cu."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from experts import random_factor
from launches import Case, Launch, Row, Value, listed
from paged import works

DEPTH, VALUES = 576, 512  # of a vector: the first 512 elements are the value
LENGTHS = [150, 321]  # of the sequences
TOO_EARLY = "loads registers without a wait, and multiplies what was in them before"
OTHER_ARGUMENTS = "has other arguments than the host code packs"  # and multiplies what was in registers before, too
NO_LOGARITHMS = "stores no logarithms of sums, for which it has its name"
NO_SCALE = "does not multiply the values by their scale"
KINDS = {"fp8": "Fp8", "bf16": "Bf16"}


def width_of(row: Row, rows: int) -> int:
    """Rows of q and their heads that a workgroup takes."""
    shared, kind = int(row["Gqa"]), row["qType"]
    if shared == 16:
        return (16 if rows == 1 else 128) if kind == "bf16" else 64 if rows > 2 else 128
    return {8: 8 * rows, 32: 64 if kind == "bf16" else 32, 64: 64, 128: 128}[shared]


def attended(
    q: torch.Tensor, vectors: torch.Tensor, positions: torch.Tensor, length: int, is_causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of q [row, head, DEPTH], and the logarithms of the sums; the last row sees all positions of the sequence."""
    scores = torch.einsum("qhd,kd->hqk", q, vectors) * DEPTH**-0.5
    if is_causal:
        seen = length - q.shape[0] + torch.arange(q.shape[0])
        scores = scores.masked_fill(positions[None, :] > seen[:, None], float("-inf"))
    return torch.einsum("hqk,kd->qhd", scores.softmax(-1), vectors[:, :VALUES]), scores.logsumexp(-1).T


WITHOUT_SCALE = {
    ("gfx942", "mla_a8w8_qh8_qseqlen1_gqaratio8_v1"),
    ("gfx942", "mla_a8w8_qh16_qseqlen4_gqaratio16_ps"),
    ("gfx942", "mla_a8w8_qh64_qseqlen4_gqaratio16_ps"),
    ("gfx950", "mla_a8w8_qh16_qseqlen4_gqaratio16_ps_page"),
}


def mistake_of(name: str, processor: str) -> str:
    """Of a kernel: decode() launches it so that the mistake has no effect."""
    if processor == "gfx950" and re.fullmatch(
        r"mla_a8w8_qh(16|64)_qseqlen4_gqaratio16(_msk0)?|mla_a8w8_qh32\w+_msk0_v2", name
    ):
        return OTHER_ARGUMENTS
    if processor == "gfx950" and re.fullmatch(r"mla_a8w8_qh16_qseqlen4_gqaratio16\w*_v3_ps", name):
        return TOO_EARLY
    if name == "mla_a8w8_qh32_qseqlen1_gqaratio32_lse_ps":
        return NO_LOGARITHMS
    if (processor, name) in WITHOUT_SCALE:
        return NO_SCALE
    return ""


def decode(row: Row, mistake: str) -> Launch:
    """mla_decode_stage1_asm_fwd: two sequences, cut in two, or by persistent workgroups (`ps`) that cut none.

    With `cprr` the GPU has every second position, and the mask knows of the others.
    """
    lengths = [64, 128] if mistake in (TOO_EARLY, OTHER_ARGUMENTS) else LENGTHS
    shared, is_persistent, processor = int(row["Gqa"]), row["ps"] == "1", row["processor"]
    rows = int(row["qSeqLen"]) or 1
    has_others, is_causal = row.get("cprr", "0") == "1", row["causal"] == "1"
    q = random_factor(KINDS[row["qType"]], processor, 2 * rows, shared, DEPTH)
    begins = torch.tensor([0, lengths[0], sum(lengths)], dtype=torch.int32)
    kv = random_factor(KINDS[row["kvType"]], processor, sum(lengths), DEPTH)
    q_scale, kv_scale = (torch.tensor([size]) if row["qType"] == "fp8" else torch.ones(1) for size in (0.5, 0.75))
    if row["kvType"] == "fp8" and row["qType"] != "fp8":
        kv_scale = torch.tensor([0.75])
    if mistake == NO_SCALE:
        kv_scale = torch.ones(1)
    indices = torch.randperm(sum(lengths)).to(torch.int32)
    vectors = kv.float()[indices.long()] * kv_scale
    outs = []
    for i, length in enumerate(lengths):
        positions = torch.arange(length) * 2 + 1 if has_others else torch.arange(length)
        whole = 2 * length if has_others else length
        one = q[i * rows : (i + 1) * rows].float() * q_scale
        outs.append(attended(one, vectors[begins[i] : begins[i + 1]], positions, whole, is_causal))
    expected, logarithms = (torch.cat([out[i] for out in outs]) for i in range(2))

    splits = 1 if is_persistent or mistake == OTHER_ARGUMENTS else 2
    sums = torch.zeros(2 * rows, splits, shared, VALUES)
    partials = torch.full((2 * rows, splits, shared), float("-inf"))
    out, lse = torch.zeros(2 * rows, shared, VALUES).bfloat16(), torch.zeros(2 * rows, shared)
    is_narrow = is_persistent and processor == "gfx950" and (row["qType"], row["Gqa"], row["qSeqLen"]) in NARROW
    is_narrow = is_narrow and ("_v3" in row["co_name"] or shared > 16)
    is_narrow = is_narrow or (not is_persistent and (row["Gqa"], row["qSeqLen"]) == ("8", "2"))
    parts = [(i, i * rows, (i + 1) * rows, int(begins[i]), int(begins[i + 1]), shared << 16) for i in range(2)]
    begin, info = works(parts, 2)
    pointers = torch.tensor([begin.data_ptr(), info.data_ptr()], dtype=torch.int64)
    arguments: list[Value] = [sums, partials, q, kv, begins, indices, torch.ones(2, dtype=torch.int32), DEPTH**-0.5]
    arguments += [shared if is_narrow else shared * rows, splits, rows * q.stride(0) * q.element_size()]
    arguments += [DEPTH * kv.element_size(), 0, torch.tensor([0, rows, 2 * rows], dtype=torch.int32)]
    arguments += [pointers, out] if is_persistent else [torch.tensor([0, splits, 2 * splits], dtype=torch.int32), 0]
    arguments += [q_scale, kv_scale, splits if is_persistent else 0, lse if row["lse"] == "1" else 0]
    arguments += [begins * 2, 2, 1] if has_others else [0, 1, 0]

    has_logarithms = mistake != NO_LOGARITHMS and (row["lse"] == "1" or not is_persistent)
    sizes = expected.abs().max(), logarithms.abs().max()

    def side_by_side(result: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
        """Both of one size, so that none hides what is wrong with the other."""
        parts = [result.flatten(1) / sizes[0], logs / sizes[1]]
        return torch.cat(parts if has_logarithms else parts[:1], 1)

    def found() -> torch.Tensor:
        if is_persistent:
            return side_by_side(out.float(), lse)
        return side_by_side((sums * partials.softmax(1)[..., None]).sum(1), partials.logsumexp(1))

    wanted = side_by_side(expected, logarithms)
    grid = (2, 1, 1) if is_persistent else (-(-rows * shared // width_of(row, rows)), 2, splits)
    written = (sums, partials, out, lse) if is_persistent else (sums, partials)
    return Launch(arguments, grid, written, wanted, slack=1 << 16, found=found, others=(begin, info))


# What the host code gives as the heads of a workgroup are those of one row of q: type, heads, rows.
NARROW = {("bf16", "32", "4"), ("bf16", "64", "1"), ("fp8", "32", "4"), ("fp8", "16", "4")}


def prefill(row: Row) -> Launch:
    """mla_prefill_asm_fwd: all rows of two sequences, each of which sees those before it."""
    shared, lengths = int(row["Gqa"]), [40, 70]
    begins = torch.tensor([0, lengths[0], sum(lengths)], dtype=torch.int32)
    q, kv = torch.randn(sum(lengths), shared, DEPTH).bfloat16(), torch.randn(sum(lengths), DEPTH).bfloat16()
    indices = torch.randperm(sum(lengths)).to(torch.int32)
    vectors = kv.float()[indices.long()]
    expected = torch.cat(
        [
            attended(q[begin:end].float(), vectors[begin:end], torch.arange(end - begin), end - begin, True)[0]
            for begin, end in zip(begins.tolist(), begins.tolist()[1:], strict=False)
        ]
    )
    out, partials = torch.zeros(sum(lengths), shared, VALUES).bfloat16(), torch.zeros(sum(lengths), shared)
    arguments: list[Value] = [out, partials, q, kv, begins, indices, torch.ones(2, dtype=torch.int32), DEPTH**-0.5]
    arguments += [shared, 1, q.stride(0) * 2, DEPTH * 2, 0, begins]
    grid = (-(-max(lengths) * shared // 128), 2, 1)
    return Launch(arguments, grid, (out,), expected, (partials,), slack=1 << 16)


def persistent_prefill(row: Row) -> Launch:
    """mla_prefill_ps_asm_fwd: the same in FP8, with keys and values of their own, in parts of 256 rows."""
    heads, depth, width, lengths, is_causal = 2, 192, 128, [300, 200], row["causal"] == "1"
    begins = torch.tensor([0, lengths[0], sum(lengths)], dtype=torch.int32)
    q, k, v = (random_factor("Fp8", row["processor"], sum(lengths), heads, size) for size in (depth, depth, width))
    scales = [torch.tensor([scale]) for scale in (0.5, 0.75, 0.625)]
    indices, scale = torch.randperm(sum(lengths)).to(torch.int32), depth**-0.5
    outs, parts = [], []
    for i, length in enumerate(lengths):
        first, end = int(begins[i]), int(begins[i + 1])
        used = indices[first:end].long()
        scores = torch.einsum("qhd,khd->hqk", q[first:end].float() * scales[0], k.float()[used] * scales[1]) * scale
        if is_causal:
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        outs.append(torch.einsum("hqk,khd->qhd", scores.softmax(-1), v.float()[used] * scales[2]))
        parts += [
            (i, begin_row, min(end, begin_row + 256), first, end, (head + 1) << 16 | head)
            for head in range(heads)
            for begin_row in range(first, end, 256)
        ]
    out, sums = torch.zeros(sum(lengths), heads, width).bfloat16(), torch.zeros(1024, heads, width)
    partials, (begin, info) = torch.zeros(1024, heads), works(parts, 2)
    arguments: list[Value] = [q, k, v, out, sums, partials, begin, info, begins, begins, indices, *scales, scale]
    arguments += [sum(lengths), heads, sum(lengths), sum(lengths)]
    result, wanted = out.view(sum(lengths), -1), torch.cat(outs).view(sum(lengths), -1)
    return Launch(arguments, (2, 1, 1), (result,), wanted, (sums, partials), block=512, slack=1 << 16)


NAME = re.compile(r"mla_a(?P<q>8|16)w(?P<kv>8|16)_qh\d+_qseqlen(?P<rows>\d)_gqaratio(?P<shared>\d+)(?P<words>\w*)")


def row_of(name: str, processor: str) -> Row | None:
    """What a list would say of a code object with such a name."""
    if name == "MLA_A16W16_1TG_4W_32mx1_16nx1_Coex0_Msk1_QH16":
        row = {"qType": "bf16", "kvType": "bf16", "Gqa": "32", "qSeqLen": "0", "ps": "0", "lse": "0", "causal": "1"}
        return row | {"processor": processor, "prefill": "0"}
    match = NAME.fullmatch(name)
    if match is None:
        return None
    kinds, words = {"8": "fp8", "16": "bf16"}, match["words"].split("_")
    row = {"qType": kinds[match["q"]], "kvType": kinds[match["kv"]], "Gqa": match["shared"], "qSeqLen": match["rows"]}
    flags = {"ps": "ps" in words, "lse": "lse" in words, "cprr": "cprr" in words, "causal": "msk0" not in words}
    return row | {"processor": processor, "prefill": "0"} | {key: str(int(value)) for key, value in flags.items()}


def latent(folder: Path) -> Iterator[Case]:
    """All that the folder lists, and those whose names say what they take."""
    rows, processor = list(listed(folder)), folder.parent.name
    names = {row["co_name"] for row in rows}
    for file in sorted(folder.glob("*.co")):
        is_known = file.name in names or file.stem == "mla_a8w8_qh32_qseqlen4_gqaratio32_msk0"
        row = None if is_known else row_of(file.stem, processor)
        if row is not None:
            rows.append(row | {"co_name": file.name, "knl_name": ""})
    for row in rows:
        file = folder / row["co_name"]
        if not file.exists() or row["kvType"] == "byte":
            continue
        if row["prefill"] == "1":
            make = persistent_prefill if row["ps"] == "1" else prefill
            yield Case(file, row["knl_name"], partial(make, row), 2**-4 if row["ps"] == "1" else 2**-6)
            continue
        if file.stem == "mla_a16w16_qh8_qseqlen2_gqaratio8":
            row["causal"] = "0"  # another one has a mask, of which the list says the same
        mistake = mistake_of(file.stem, processor)
        tolerance = 2**-4 if row["qType"] == "fp8" else 2**-6
        yield Case(file, row["knl_name"], partial(decode, row, mistake), tolerance, mistake)
