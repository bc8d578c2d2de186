"""Mixtures of experts: csrc/py_itfs_cu/asm_fmoe.cu.

What a kernel does is in its name, also of those that no list has: `vs` and `novs`, the ways to skip work, take the same
arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from launches import Case, Launch, Value, shuffled

NEW = re.compile(
    r"fmoe_(?P<out>bf16|fp16|f16)_(?P<a16>a16_)?(?P<quant>pertoken|blockscale|noquant)(?P<type>Fp8|Int8|Bf16|Fp16)"
    r"_g1u(?P<up>[01])_(?P<words>\w+?)_(?P<m>\d+)x(?P<n>\d+)(_pf3)?"
)
OLD = re.compile(
    r"fmoe_(?P<type>fp8|int8)_(?P<block>blockscale_)?g1u(?P<up>[01])(?P<words>\w*?)_subGU_(?P<n>\d+)(?P<more>\w*)"
)


ADDS_BITS = "adds the bits of bf16 as f16"


@dataclass(frozen=True)
class Kind:
    """What the name of a code object says.

    Attributes:
        factors: the type of the weights, and of x unless it has 16 bits, in which case the kernel makes it so.
        scale: of each row, of each block of 128, or none.
        has_own_x: each expert that a token goes to has an x of its own, and what is between the products is smoothed.
        tile: tokens and columns of a workgroup.
    """

    out: torch.dtype
    factors: str
    scale: str
    has_up: bool
    act: str
    words: frozenset[str]
    tile: tuple[int, int]

    @property
    def is_x_wide(self) -> bool:
        return not self.words.isdisjoint({"smf", "a16"})

    @property
    def adds_bits(self) -> bool:
        """It adds numbers of bf16 by an atomic that adds f16."""
        return self.out == torch.float16 and self.words.isdisjoint({"vs", "novs"})

    def unwritten(self, processor: str) -> str:
        """Where a kernel reads what nobody wrote.

        Those with FP8, `vs` and tiles of 32x128 compute columns from the 257th on, store none of them in LDS for the
        order that memory wants, and add what is there; two look for their work with a register that they never write.
        """
        if self.tile == (32, 384) and self.scale == "block" and "gelu" in self.words and "1tg" not in self.words:
            return "register"
        is_plain = self.words <= {"vs", "silu", "gelu", "1tg"} and "vs" in self.words
        is_one = is_plain and self.tile == (32, 128) and self.factors == "Fp8" and self.scale == "row"
        return "lds" if is_one and (self.out == torch.float16 or processor == "gfx950") else ""

    @property
    def has_own_x(self) -> bool:
        return "multix" in self.words or (not self.has_up and self.scale == "row" and "smf" not in self.words)


def kind_of(name: str) -> Kind | None:
    """Of a code object's name, if it is one of those that experts() launches.

    With `tkw1` the factors are FP8, and without scales bf16, also where the name says something else.
    """
    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "f16": torch.float16}
    if not {"flat", "emsort"}.isdisjoint(name.split("_")):
        return None
    if name in ("fmoe_b16", "fmoe_f16"):
        out = types["bf16" if name == "fmoe_b16" else "f16"]
        return Kind(out, "Bf16" if name == "fmoe_b16" else "Fp16", "none", False, "gelu", frozenset({"vs"}), (32, 512))
    if match := re.fullmatch(r"fmoe_int8_g1u0(_smf)?", name):
        words = {"smf"} if match[1] else {"atm", "opt"}
        return Kind(types["bf16"], "Int8", "row", False, "gelu", frozenset(words), (32, 512))
    if match := NEW.fullmatch(name):
        words = set(match["words"].split("_")) | ({"a16"} if match["a16"] or match["type"] == "Bf16" else set())
        scale = {"pertoken": "row", "blockscale": "block", "noquant": "none"}[match["quant"]]
        factors = {"block": "Fp8", "none": "Bf16", "row": "Fp8" if "tkw1" in words else match["type"]}[scale]
        act = "gelu" if "gelu" in words else "silu"
        tile = (int(match["m"]), int(match["n"]))
        return Kind(types[match["out"]], factors, scale, match["up"] == "1", act, frozenset(words), tile)
    if match := OLD.fullmatch(name):
        words = set((match["words"] + match["more"]).split("_"))
        scale, act = "block" if match["block"] else "row", "gelu" if "gelu" in words else "silu"
        factors = match["type"].capitalize()
        return Kind(types["bf16"], factors, scale, match["up"] == "1", act, frozenset(words), (32, int(match["n"])))
    return None


def sorted_tokens(
    chosen: torch.Tensor, weights: torch.Tensor, count: int, block: int
) -> tuple[torch.Tensor, torch.Tensor, list[tuple[int, int, int]]]:
    """moe_sorting_fwd: `topk << 24 | token` by experts in blocks, their weights, and (expert, token, slot) of each.

    Places that are free have the number of tokens.
    """
    tokens, topk = chosen.shape
    ids = torch.full((count, block), topk << 24 | tokens, dtype=torch.int32)
    shares, uses = torch.zeros(count, block), []
    for expert in range(count):
        for place, (token, slot) in enumerate((chosen == expert).nonzero().tolist()):
            ids[expert, place], shares[expert, place] = slot << 24 | token, weights[token, slot]
            uses.append((expert, token, slot))
    return ids, shares, uses


def random_factor(kind: str, processor: str, *shape: int) -> torch.Tensor:
    """A matrix of the kernel's type."""
    if kind == "Int8":
        return torch.randint(-127, 128, shape, dtype=torch.int8)
    fp8 = torch.float8_e4m3fnuz if processor == "gfx942" else torch.float8_e4m3fn
    return torch.randn(*shape).to({"Fp8": fp8, "Bf16": torch.bfloat16, "Fp16": torch.float16}[kind])


def experts(kind: Kind, processor: str) -> Launch:
    """Tokens x go to two of three experts, by their weights; to one if only the first addition, to zero, is right.

    Each gives act(x gate) * (x up) down, or without `up` (g1u0) act(x gate) down. With `tkw1` x is multiplied by the
    weight, else the result.
    """
    tokens, topk, count, depth, inner = 5, 1 if kind.adds_bits else 2, 3, 512, kind.tile[1]
    if kind.words >= {"atm", "opt"} or kind.scale == "block":
        depth = 1024  # these take more columns at once
    rows, gates = topk * tokens if kind.has_own_x else tokens, 2 * inner if kind.has_up else inner
    x = random_factor(kind.factors, processor, rows, depth)
    gate_up = random_factor(kind.factors, processor, count, gates, depth)
    down = random_factor(kind.factors, processor, count, depth, inner)
    if kind.is_x_wide:
        x = torch.randn(tokens, depth).bfloat16()  # whatever the result is of
    size = {"Fp8": 1.0, "Int8": 1 / 64}.get(kind.factors, 1.0) / 16
    smooth = 0.5 + torch.rand(count, inner) if kind.has_own_x or "smf" in kind.words else torch.ones(count, inner)
    smooth_x = 0.5 + torch.rand(count, depth) if "smf" in kind.words else torch.ones(count, depth)
    scales: list[torch.Tensor] = []
    values = [x.float(), gate_up.float(), down.float()]
    if kind.scale == "row":
        scales = [size * (0.5 + torch.rand(*shape)) for shape in ((rows, 1), (count, gates, 1), (count, depth, 1))]
        values = [value * scale for value, scale in zip(values, scales, strict=True)]
        if kind.is_x_wide:
            values[0], scales[0] = x.float(), smooth_x
    elif kind.scale == "block":
        shapes = ((tokens, depth // 128), (count, gates // 128, depth // 128), (count, depth // 128, inner // 128))
        scales = [size * (0.5 + torch.rand(*shape)) for shape in shapes]
        wide = [scale.repeat_interleave(128, -1) for scale in scales]
        wide[1:] = [scale.repeat_interleave(128, -2) for scale in wide[1:]]
        values = [value * scale for value, scale in zip(values, wide, strict=True)]
        if kind.is_x_wide:
            values[0] = x.float()
        scales[0] = scales[0].T.contiguous()
    chosen, weights = torch.stack([torch.randperm(count)[:topk] for _ in range(tokens)]), torch.rand(tokens, topk)
    ids, shares, uses = sorted_tokens(chosen, weights, count, kind.tile[0])

    act = torch.nn.functional.silu if kind.act == "silu" else torch.nn.functional.gelu
    expected, is_weighted_first = torch.zeros(tokens, depth), "tkw1" in kind.words
    for expert, token, slot in uses:
        weight = weights[token, slot].item()
        one = values[0][slot * tokens + token if kind.has_own_x else token] * smooth_x[expert]
        hidden = values[1][expert] @ one * (weight if is_weighted_first else 1)
        hidden = act(hidden[:inner]) * hidden[inner:] if kind.has_up else act(hidden)
        expected[token] += (1 if is_weighted_first else weight) * (values[2][expert] @ (hidden * smooth[expert]))

    out, valid = torch.zeros(tokens, depth, dtype=kind.out), torch.tensor([ids.numel(), tokens], dtype=torch.int32)
    gate_up, down = (torch.stack([shuffled(one, "1") for one in matrix]) for matrix in (gate_up, down))
    persistent = 0 if kind.words.isdisjoint({"ps", "psx"}) else 8  # workgroups, as on a GPU of so few compute units
    bytes_each = gate_up.element_size()
    pointers: list[Value] = [*scales, smooth] if scales else [0, 0, 0, 0]
    strides = [scale.stride(0) * 4 for scale in scales[1:]] if scales else [0, 0]
    arguments: list[Value] = [out, x, gate_up, valid, down, *pointers, ids, shares]
    arguments += [torch.arange(count, dtype=torch.int32), depth, inner, tokens, count]
    arguments += [depth * x.element_size(), depth * bytes_each, inner * bytes_each, 2 * depth]
    arguments += [gates * depth * bytes_each, inner * depth * bytes_each, *strides, 4 * inner, topk, persistent, 1]
    grid = (persistent, 1, 1) if persistent else (1, count, 1)
    if "smf" in kind.words and not persistent:
        grid = (count, 1, 1)
    result = out.view(torch.bfloat16) if kind.adds_bits else out
    return Launch(arguments, grid, (result,), expected, slack=1 << 16)


def cases_of(file: Path, processor: str) -> Iterator[Case]:
    """A code object, if experts() launches it."""
    kind = kind_of(file.stem)
    if kind is None:
        return
    unwritten = kind.unwritten(processor)
    mistake = f"reads {unwritten} that it has not written" if unwritten else ""
    if kind.adds_bits:
        mistake = ADDS_BITS
    # What is between the products is of 8 bits, too.
    tolerance = 3 * 2**-5 if kind.factors == "Int8" or "smf" in kind.words else 2**-4
    yield Case(file, "", partial(experts, kind, processor), tolerance, mistake, unwritten)


def all_experts(folder: Path) -> Iterator[Case]:
    """Of all code objects of a folder that experts() launches."""
    for file in sorted(folder.rglob("*.co")):
        yield from cases_of(file, folder.parent.name)
