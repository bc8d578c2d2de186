"""How the kernels in some folders of AITER's hsa/ are launched, and what torch computes instead.

Each folder has lists of its kernels (*.csv). Arguments, grids and the order of elements are those of AITER's launchers
(csrc/py_itfs_cu/asm_*.cu), of its shuffle functions (aiter/ops/shuffle.py) and of its tests (op_tests).
"""

from __future__ import annotations

import csv
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

import wave_runtime

Value = torch.Tensor | int | float
Row = dict[str, str]


@dataclass(frozen=True)
class Launch:
    """One launch.

    Attributes:
        arguments: the members of the launcher's KernelArgs, in their order.
        grid: workgroups.
        results: what the kernel writes, [m, n] each.
        expected: what torch makes of them, side by side.
        scratch: what the kernel writes besides.
        block: work-items of a workgroup.
    """

    arguments: list[Value]
    grid: tuple[int, int, int]
    results: tuple[torch.Tensor, ...]
    expected: torch.Tensor
    scratch: tuple[torch.Tensor, ...] = ()
    block: int = 256

    def packed(self) -> bytes:
        """Each argument takes 16 bytes."""
        slots = []
        for value in self.arguments:
            if isinstance(value, torch.Tensor):
                slots.append(struct.pack("Q8x", value.data_ptr()))
            else:
                slots.append(struct.pack("f12x" if isinstance(value, float) else "i12x", value))
        return b"".join(slots)


@dataclass(frozen=True)
class Case:
    """A kernel of a folder.

    Attributes:
        make: the launch, with random inputs.
        tolerance: the largest error, relative to the largest element.
    """

    file: Path
    kernel: str
    make: Callable[[], Launch]
    tolerance: float

    def error(self) -> float:
        """Launch, and return the largest error, relative to the largest element."""
        launch, kernel = self.make(), wave_runtime.load(self.file)[self.kernel]
        arguments = launch.packed()[: kernel.info["kernarg"]["size"]]  # HIP passes no more, either
        tensors = [value for value in launch.arguments if isinstance(value, torch.Tensor)]
        written = [*launch.results, *launch.scratch]
        reads = [tensor for tensor in tensors if not any(tensor.data_ptr() == other.data_ptr() for other in written)]
        kernel.launch_raw(arguments, memory=written, reads=reads, grid=launch.grid, block=launch.block)
        found, wanted = torch.cat([result.double() for result in launch.results], 1), launch.expected.double()
        if not bool(found.isfinite().all()):
            return float("inf")
        return ((found - wanted).abs().max() / wanted.abs().max()).item()


def listed(folder: Path) -> Iterator[Row]:
    """The rows of a folder's lists, with the list's name and the processor's."""
    for path in sorted(folder.rglob("*.csv")):
        with path.open() as file:
            for row in csv.DictReader(file):
                yield row | {"list": path.stem, "processor": folder.parent.name}


def cases(
    make: Callable[[Row], Launch],
    tolerance: Callable[[Row], float] = lambda row: 2**-7,
    takes: Callable[[Row], bool] = lambda row: True,
) -> Callable[[Path], Iterator[Case]]:
    """What lists a folder's kernels, each launched as `make` says for its row, but those that are left out."""

    def of_folder(folder: Path) -> Iterator[Case]:
        for row in filter(takes, listed(folder)):
            for file in sorted(folder.rglob(row["co_name"])):  # some are there for the MI300 and for the MI308
                yield Case(file, row["knl_name"], partial(make, row), tolerance(row))

    return of_folder


def shuffled(matrix: torch.Tensor, wanted: str) -> torch.Tensor:
    """[n, k] in tiles of 16 rows and 16 bytes, one behind the other, where a row's `bpreshuffle` is "1"."""
    if wanted != "1":
        return matrix
    n, k = matrix.shape[0], matrix.shape[1] * matrix.element_size()
    tiles = matrix.view(torch.uint8).view(n // 16, 16, k // 16, 16).transpose(1, 2)
    return tiles.contiguous().view(n, k).view(matrix.dtype)


def shuffled_scales(scales: torch.Tensor) -> torch.Tensor:
    """[m, k / 32], m padded to 256 and k to 8 * 32, in the order that shuffle_scale gives them."""
    m, n = scales.shape
    padded = torch.full((-(-m // 256) * 256, -(-n // 8) * 8), 127, dtype=torch.uint8)
    padded[:m, :n] = scales
    rows, columns = padded.shape
    return padded.view(rows // 32, 2, 16, columns // 8, 2, 4).permute(0, 3, 5, 2, 4, 1).reshape(rows, columns)


def bf16_product(row: Row) -> Launch:
    """asm_gemm_a16w16.cu: A [m, k] times B [n, k] transposed. Some kernels divide k among workgroups."""
    m, n, k, split = int(row["tileM"]), int(row["tileN"]), 256, 1 + int(row["splitK"])
    a, b, d = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16(), torch.zeros(m, n, dtype=torch.bfloat16)
    semaphores = torch.zeros(1024, dtype=torch.int32)
    strides = [2 * n, 0, 2 * n, 0, 2 * k, 0, 2 * k, 0]  # of D, C, A, B in bytes
    arguments = [d, 0, a, shuffled(b, row["bPreshuffle"]), 1.0, 0.0, *strides, m, n, k, split, 1, 0, 0, semaphores]
    return Launch(arguments, (1, 1, split), (d,), a.float() @ b.float().T, (semaphores,))


def i8_product(row: Row) -> Launch:
    """asm_gemm_a8w8.cu: with a scale for each row of A and each of B."""
    m, n, k = int(row["tile_m"]), int(row["tile_n"]), 256
    a, b = (torch.randint(-128, 128, (rows, k), dtype=torch.int8) for rows in (m, n))
    a_scales, b_scales, bias = torch.rand(m, 1), torch.rand(1, n), torch.randn(1, n)
    c = torch.zeros(m, n, dtype=torch.bfloat16)
    arguments = [c, a, shuffled(b, row["bpreshuffle"]), a_scales, b_scales, bias, m, n, k, k, k, 2 * n, 1]
    return Launch(arguments, (1, 1, 1), (c,), a.float() @ b.float().T * a_scales * b_scales + bias)


def fp8_product(row: Row) -> Launch:
    """asm_a8w8_blockscale_bpreshuffle.cu: with a scale for 128 of a row of A, and for 128 x 128 of B."""
    dtype = torch.float8_e4m3fnuz if row["processor"] == "gfx942" else torch.float8_e4m3fn
    m, n, k = int(row["tile_m"]), int(row["tile_n"]), 512
    a, b = (torch.randn(rows, k).to(dtype) for rows in (m, n))
    a_scales, b_scales, c = torch.rand(m, k // 128), torch.rand(n // 128, k // 128), torch.zeros(m, n).bfloat16()
    arguments = [c, a, shuffled(b, row["bpreshuffle"]), a_scales.T.contiguous(), b_scales, torch.zeros(n)]
    arguments += [m, n, k, k, k, 2 * n, 1, m, n // 128, k // 128]
    x = a.float() * a_scales.repeat_interleave(128, 1)
    y = b.float() * b_scales.repeat_interleave(128, 0).repeat_interleave(128, 1)
    return Launch(arguments, (1, 1, 1), (c,), x @ y.T)


FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def fp4_product(row: Row) -> Launch:
    """asm_gemm_a4w4.cu: with a scale for 32 of each row of A and B."""
    m, n, k = int(row["tile_M"]), int(row["tile_N"]), 512
    codes = [torch.randint(256, (rows, k // 2), dtype=torch.uint8) for rows in (m, n)]
    scales = [torch.randint(124, 131, (rows, k // 32), dtype=torch.uint8) for rows in (m, n)]
    x, y = (
        FP4[torch.stack([code & 15, code >> 4], -1).flatten(1).int()]
        * torch.exp2(scale.float() - 127).repeat_interleave(32, 1)
        for code, scale in zip(codes, scales, strict=True)
    )
    d, (a_scales, b_scales) = torch.zeros(m, n).bfloat16(), map(shuffled_scales, scales)
    arguments = [d, 0, codes[0], shuffled(codes[1], row["bpreshuffle"]), 1.0, 0.0, 0, 0, n, 0, k, 0, k, 0, m, n, k]
    arguments += [a_scales, b_scales, a_scales.shape[1], 0, b_scales.shape[1], 0, 0]
    return Launch(arguments, (1, 1, 1), (d,), x @ y.T)


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


def attention(row: Row) -> Launch:
    """mha_fwd.cu (csrc/cpp_itfs): two sequences with two heads, which share one of K and V.

    In group mode (1) the sequences stand one behind the other, and their begins in arrays.
    """
    depth_qk, depth_v, causal = int(row["hdim_q"]), int(row["hdim_v"]), row["mask"] != "0"
    is_group, tile, heads, batch = row["mode"] == "1", int(row["ts_qo"]), 2, 2
    length = 384  # so that the last tile is not full
    dtype = torch.bfloat16
    if row["dtype"] != "bf16":
        dtype = torch.float8_e4m3fnuz if row["processor"] == "gfx942" else torch.float8_e4m3fn
    shapes = ((heads, depth_qk), (1, depth_qk), (1, depth_v))
    q, k, v = (torch.randn(batch, length, *shape).to(dtype) for shape in shapes)
    o = torch.zeros(batch, length, heads, depth_v).bfloat16()
    strides = {"q": q, "k": k, "v": v, "o": o}
    by_row, by_head, by_batch = (
        {name: tensor.stride(axis) * tensor.element_size() for name, tensor in strides.items()} for axis in (1, 2, 0)
    )
    if is_group:
        by_batch = dict.fromkeys(by_batch, 0)
    is_wide = (depth_qk, depth_v) == (192, 128)
    is_wide_on_942 = is_wide and row["processor"] == "gfx942"
    begins, one, scale = torch.arange(batch + 1, dtype=torch.int32) * length, torch.ones(1), depth_qk**-0.5
    arguments: list[Value] = [
        o,
        q,
        k,
        v,
        0,
        scale,
        length,
        by_row["q"],
        tile * by_row["q"],
        by_head["q"],
        by_batch["q"],
    ]
    arguments += [
        heads,
        by_row["k"],
        by_head["k"],
        by_batch["k"],
        0 if is_wide_on_942 else 3 if causal else 5,
        0,
        length,
    ]
    arguments += [depth_qk, depth_v, heads, *(by[name] for name in "vo" for by in (by_row, by_head, by_batch))]
    sequences = begins if is_group else 0
    arguments += [sequences, sequences, 0, sequences, sequences, one, one, one, 0, 0, 0, 0, 0, 0]
    tiles, merged = -(-length // tile), 2 if causal and not (is_group and is_wide_on_942) else 1
    grid = (-(-tiles // merged), heads, batch)
    if is_wide_on_942:
        grid = (heads, tiles, batch)
    if is_group:
        grid = (heads, batch, -(-tiles // merged))
    scores = torch.einsum("bqhd,bkd->bhqk", q.float(), k.float()[:, :, 0]) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
    expected = torch.einsum("bhqk,bkd->bqhd", scores.softmax(-1), v.float()[:, :, 0])
    return Launch(
        arguments,
        grid,
        (o.view(batch * length, -1),),
        expected.reshape(batch * length, -1),
        block=256 if is_wide else 512,
    )


def tolerance_of_attention(row: Row) -> float:
    """With FP8 the probabilities are of FP8, too."""
    return 2**-6 if row["dtype"] == "bf16" else 2**-4


EXPERTS = re.compile(r"fmoe_(bf16|fp16)_pertoken(Fp8|Int8)_g1u(0|1)_(silu|gelu)(_tkw1)?")


def experts(row: Row) -> Launch:
    """asm_fmoe.cu, fmoe_g1u1 and the like: tokens x go to two of three experts, by their weights.

    Each gives act(x gate) * (x up) down, or without `up` (g1u0) act(x gate) down. Scales are of rows. With `tkw1` x is
    multiplied by the weight, else the result. Where `smf` is 2, and without `up`, each expert that a token goes to has
    an x of its own, and what is between the products is smoothed. Tokens are sorted by experts (moe_sorting_fwd), in
    blocks of 32 for each: `topk << 24 | token`; places that are free have the number of tokens.
    """
    match = EXPERTS.fullmatch(row["list"])
    assert match is not None
    has_up, is_weighted_first = match[3] == "1", match[5] is not None
    has_own_x = row["smf"] == "2" or not has_up
    tokens, topk, count, depth, inner = 5, 2, 3, 512, int(row["subGU_n"])
    out_type = {"bf16": torch.bfloat16, "fp16": torch.float16}[match[1]]
    fp8 = torch.float8_e4m3fnuz if row["processor"] == "gfx942" else torch.float8_e4m3fn

    def factor(*shape: int) -> torch.Tensor:
        return torch.randn(*shape).to(fp8) if match[2] == "Fp8" else torch.randint(-127, 128, shape, dtype=torch.int8)

    rows = topk * tokens if has_own_x else tokens
    gates = 2 * inner if has_up else inner
    x, gate_up, down = factor(rows, depth), factor(count, gates, depth), factor(count, depth, inner)
    size = (1.0 if match[2] == "Fp8" else 1 / 64) / 16
    scales = [size * (0.5 + torch.rand(*shape)) for shape in ((rows, 1), (count, gates, 1), (count, depth, 1))]
    smooth = 0.5 + torch.rand(count, inner) if has_own_x else torch.ones(count, inner)
    chosen, weights = torch.stack([torch.randperm(count)[:topk] for _ in range(tokens)]), torch.rand(tokens, topk)

    ids = torch.full((count, 32), topk << 24 | tokens, dtype=torch.int32)
    shares, expected = torch.zeros(count, 32), torch.zeros(tokens, depth)
    act = torch.nn.functional.silu if match[4] == "silu" else torch.nn.functional.gelu
    values = [tensor.float() * scale for tensor, scale in zip((x, gate_up, down), scales, strict=True)]
    for expert in range(count):
        for place, (token, slot) in enumerate((chosen == expert).nonzero().tolist()):
            ids[expert, place], shares[expert, place] = slot << 24 | token, weights[token, slot]
            weight = float(weights[token, slot])
            hidden = values[1][expert] @ values[0][slot * tokens + token if has_own_x else token]
            hidden = hidden * weight if is_weighted_first else hidden
            hidden = act(hidden[:inner]) * hidden[inner:] if has_up else act(hidden)
            expected[token] += (1 if is_weighted_first else weight) * (values[2][expert] @ (hidden * smooth[expert]))

    out, valid = torch.zeros(tokens, depth, dtype=out_type), torch.tensor([ids.numel(), tokens], dtype=torch.int32)
    gate_up, down = (torch.stack([shuffled(one, "1") for one in matrix]) for matrix in (gate_up, down))
    persistent = 8 if row["ps"] == "1" else 0  # workgroups, as on a GPU of so few compute units
    arguments: list[Value] = [out, x, gate_up, valid, down, *scales, smooth, ids, shares]
    arguments += [torch.arange(count, dtype=torch.int32), depth, inner, tokens, count, depth, depth, inner, 2 * depth]
    arguments += [gates * depth, inner * depth, 4 * gates, 4 * depth, 4 * inner, topk, persistent, 1]
    return Launch(arguments, (persistent, 1, 1) if persistent else (1, count, 1), (out,), expected)


def takes_experts(row: Row) -> bool:
    """Those of the kinds that experts() knows.

    Of Int8 with `tkw1` the host code launches none; those with `atm` add their results in another way.
    """
    if "Int8" in row["list"] and "tkw1" in row["list"]:
        return False
    is_known = EXPERTS.fullmatch(row["list"]) is not None and row["smf"] in "02"
    return is_known and row["atm"] == "0" and row.get("flat", "0") == "0"


FAMILIES = {
    "bf16gemm": cases(bf16_product),
    "f4gemm": cases(fp4_product),
    "fmha_v3_fwd": cases(attention, tolerance_of_attention),
    "fmoe": cases(
        experts,
        lambda row: 2**-4,  # what is between the products is of 8 bits, too
        takes_experts,
    ),
    "fp8gemm_blockscale": cases(fp8_product),
    "i8gemm": cases(i8_product),
    "topksoftmax": cases(choice, lambda row: 1e-5),
}
