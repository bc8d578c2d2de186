"""Matrix instructions against the model in matrix_model.py."""

from __future__ import annotations

import os
from collections.abc import Mapping

import machine
import numpy as np
import pytest
import torch
import warm_python
from machine import LANES, State, isa_rows
from matrix_model import CODES, ELEMENTS, EXACT, SIGNED, Array, Operands, Shape, elements, expected, factors
from published_sums import SUMS
from requirements import does_not_apply

import wave_runtime

Instruction = Mapping[str, object]

WAVES = 4
OLDER = [row for row in isa_rows("gfx90a") if row["matrix"]]
ALL = [row for row in machine.ROWS if row["mnemonic"].startswith(("v_mfma_", "v_smfmac_"))]


def same(actual: Array, wanted: Array, shape: Shape) -> bool:
    """Bitwise, but that any NaN equals any NaN."""
    if shape.sum == "i32":
        return np.array_equal(actual, wanted)
    bits, kind = (64, np.float64) if shape.sum == "f64" else (32, np.float32)
    x, y = (np.ascontiguousarray(elements(rows, bits)) for rows in (actual, wanted))
    return bool(np.all((x == y) | (np.isnan(x.view(kind)) & np.isnan(y.view(kind)))))


def random_codes(element: str, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Codes [wave, ...]: of ordinary values, of those and a few random bits, of zeros and denormals, of random bits."""
    bits = ELEMENTS[element].bits
    kind = ELEMENTS[element].tensor
    scale = 64 if element == "i8" else 4
    ordinary = torch.from_numpy(random.standard_normal(shape) * scale).to(torch.float32 if bits < 64 else torch.float64)
    codes = ordinary.to(kind).view(SIGNED[bits]).numpy().view(CODES[bits]).copy()
    wild = np.frombuffer(random.bytes(codes.nbytes), dtype=CODES[bits]).reshape(shape)
    sign = 1 << (bits - 1)
    small = random.choice(np.array([0, sign, 1, sign + 1, 3, sign + 7], dtype=CODES[bits]), shape)
    some = random.random(shape)
    codes[1] = np.where(some < 0.02, wild, codes)[1]
    codes[2] = np.where(some < 0.7, small, codes)[2]
    codes[3] = wild[3]
    return codes


def random_rows(element: str, registers: int, random: np.random.Generator) -> Array:
    bits = ELEMENTS[element].bits
    codes = random_codes(element, (WAVES, LANES, registers * 32 // bits), random)
    return np.ascontiguousarray(codes).view(np.uint32).transpose(0, 2, 1)


def random_words(shape: tuple[int, ...], random: np.random.Generator) -> Array:
    return random.integers(0, 2**32, shape, dtype=np.uint32)


def shape_of(row: Instruction, processor: str = "gfx942") -> Shape:
    """gfx90a's names say nothing of blocks: "v_mfma_f32_32x32x4bf16_1k"."""
    if processor != "gfx90a":
        return Shape(str(row["mnemonic"]))
    product: Mapping[str, object] = row["matrix"]  # type: ignore[assignment]
    kind, to = str(product["a"]).lower(), str(product["d"]).lower()
    shape = Shape(
        f"v_mfma_{to}_{product['m']}x{product['n']}x{product['k']}_{product['blocks']}b_{kind}",
        in_pairs=kind in ("f16", "bf16"),
    )
    if to == "f64":
        shape.takes_cbsz = shape.takes_blgp = False
    return shape


def as_multiplied(rows: Array, element: str, modes: Array) -> Array:
    """What MODE of each wave leaves of a factor: of f32 denormals are zeros where bit 4 is not set."""
    if element != "f32":
        return rows.copy()
    flushed = (modes >> 4 & 1 == 0)[:, None, None] & (rows & 0x7F800000 == 0)
    return np.where(flushed, rows & np.uint32(0x80000000), rows)


class Trial:
    """One instruction with random registers in a random state. Operands may overlap: all are read first."""

    def __init__(
        self, row: Instruction, random: np.random.Generator, processor: str = "gfx942", **modifiers: int
    ) -> None:
        self.row, self.shape, self.random, self.processor = row, shape_of(row, processor), random, processor
        self.state = State(WAVES)
        for rows in (self.state.v, self.state.a):
            rows[:] = random_words(rows.shape, random)
        self.state.exec[:] = random_words((WAVES, 2), random)
        self.state.mode[:] = random.integers(0, 256, WAVES) | machine.DEFAULT_MODE & ~0xFF
        self.fields: dict[str, int] = dict(modifiers)

    def place(self, registers: int) -> tuple[int, Array, int]:
        """ACC bit, the rows, and the first register."""
        accumulation = int(self.random.integers(2)) if registers <= machine.AGPRS else 0
        rows = self.state.a if accumulation else self.state.v
        first = int(self.random.integers((rows.shape[1] - registers) // 2 + 1)) * 2
        return accumulation, rows[:, first : first + registers], first

    def input(self, field: str, element: str, registers: int) -> tuple[int, Array]:
        accumulation, rows, first = self.place(registers)
        rows[:] = random_rows(element, registers, self.random)
        self.fields[field] = 256 + first
        return accumulation, rows

    def accumulators(self, registers: int) -> Array:
        """D, and C: registers of the same file, the same or others; or a constant. The registers of C."""
        accumulation, self.target, first = self.place(registers)
        self.fields |= {"VDST": first, "ACC_CD": accumulation}
        wanted = self.shape.sum if self.shape.sum != "i32" else "f32"
        if self.shape.sparse:
            self.target[:] = random_rows(wanted, registers, self.random)
            return self.target
        choice = self.random.integers(4)
        if choice == 0:
            return self.constant(registers)
        rows = self.state.a if accumulation else self.state.v
        if choice == 1:
            first = int(self.random.integers((rows.shape[1] - registers) // 2 + 1)) * 2
        self.fields["SRC2"] = 256 + first
        source = rows[:, first : first + registers]
        source[:] = random_rows(wanted, registers, self.random)
        return source

    def constant(self, registers: int) -> Array:
        code, number = [(128, 0), (129, 1), (193, -1), (242, 1.0), (245, -2.0), (248, 0.15915494309189535)][
            self.random.integers(6)
        ]
        self.fields["SRC2"] = code
        if self.shape.sum == "f64":
            dwords = np.array([number], dtype=np.float64 if isinstance(number, float) else np.int64).view(np.uint32)
        else:
            dwords = np.array([number], dtype=np.float32 if isinstance(number, float) else np.int32).view(np.uint32)
        return np.broadcast_to(np.resize(dwords, registers)[None, :, None], (WAVES, registers, LANES))

    def run(self) -> tuple[Operands, Array]:
        """Compare all registers with the model's. Returns the operands and the result."""
        d, a, b, _ = self.shape.registers(self.row)
        c = self.accumulators(d)
        accumulation_a, rows_a = self.input("SRC0", self.shape.a, a)
        accumulation_b, rows_b = self.input("SRC1", self.shape.b, b)
        index = self.state.v[:, :1]
        if self.shape.sparse:
            first = int(self.random.integers(machine.VGPRS))
            self.fields["SRC2"] = 256 + first
            index = self.state.v[:, first : first + 1]
        words = machine.encode(self.row, ACC=accumulation_a | accumulation_b << 1, **self.fields)
        modifiers = {name.lower(): self.fields.get(name, 0) for name in ("CBSZ", "ABID", "BLGP")}
        multiplied = (as_multiplied(rows, self.shape.a, self.state.mode) for rows in (rows_a, rows_b))
        given = Operands(*multiplied, c.copy(), index.copy(), **modifiers)
        after = machine.run(words, self.state, processor=self.processor)
        self.target[:] = 0
        actual = after.a if self.fields["ACC_CD"] else after.v
        actual = actual[:, self.fields["VDST"] : self.fields["VDST"] + d]
        assert same(actual, expected(self.shape, given), self.shape), (self.fields, modifiers)
        result = actual.copy()
        actual[:] = 0
        for name in ("v", "a", "s", "vcc", "exec", "scc", "mode"):
            assert np.array_equal(getattr(after, name), getattr(self.state, name)), name
        return given, result


def row_id(row: Instruction) -> str:
    return str(row["mnemonic"])


@pytest.mark.parametrize("row", ALL, ids=row_id)
def test_product(row: Instruction) -> None:
    random = np.random.default_rng(1)
    for _ in range(3):
        Trial(row, random).run()


@pytest.mark.parametrize("row", [row for row in ALL if Shape(row_id(row)).sum == "f32"], ids=row_id)
def test_distance_from_f64(row: Instruction) -> None:
    """Sums of n rounded steps are within n units (2^-24) of the sum of magnitudes, whatever their order."""
    shape = Shape(row_id(row))
    given, result = Trial(row, np.random.default_rng(3)).run()
    ordinary = slice(0, 1)  # the first wave's values; those of others may overflow
    a, b, c = (x[ordinary].astype(np.float64) for x in factors(shape, given))
    actual = elements(result, 32)[(ordinary, *shape.output())].view(np.float32).astype(np.float64)
    error = np.abs(actual - (c + (a * b).sum(-1)))
    bound = a.shape[-1] * 2.0**-24 * (np.abs(c) + np.abs(a * b).sum(-1))
    assert np.all(error <= bound)


@pytest.mark.parametrize("row", OLDER, ids=row_id)
def test_product_of_gfx90a(row: Instruction) -> None:
    """With CBSZ, ABID and BLGP where they mean something."""
    random = np.random.default_rng(4)
    for _ in range(3):
        Trial(row, random, "gfx90a").run()
    shape = shape_of(row, "gfx90a")
    for modifiers in modifier_choices(shape, random) if shape.sum != "f64" else []:
        Trial(row, random, "gfx90a", **modifiers).run()


def test_gfx90a_does_not_negate_factors_of_f64() -> None:
    row = next(row for row in OLDER if row["mnemonic"] == "v_mfma_f64_16x16x4f64")
    words = machine.encode(row, VDST=0, SRC0=256, SRC1=256, SRC2=256, BLGP=1)
    with pytest.raises(wave_runtime.KernelFault, match="blgp has no meaning"):
        machine.run(words, State(1), processor="gfx90a")


def modifier_choices(shape: Shape, random: np.random.Generator) -> list[dict[str, int]]:
    if shape.sparse:
        return [{"CBSZ": 0, "ABID": 1}, {"CBSZ": 1, "ABID": 1}, {"CBSZ": 0, "ABID": shape.bits // 4 - 1}]
    choices = [{"BLGP": blgp} for blgp in range(1, 8)] if shape.takes_blgp or shape.sum == "f64" else []
    if shape.takes_cbsz:
        for cbsz in range(1, shape.blocks.bit_length()):
            blgp = int(random.integers(8))
            choices.append({"CBSZ": cbsz, "ABID": int(random.integers(1 << cbsz)), "BLGP": blgp})
    return choices


@pytest.mark.parametrize(
    "row", [row for row in ALL if modifier_choices(Shape(row_id(row)), np.random.default_rng())], ids=row_id
)
def test_modifiers(row: Instruction) -> None:
    random = np.random.default_rng(2)
    for modifiers in modifier_choices(Shape(row_id(row)), random):
        Trial(row, random, **modifiers).run()


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("v_mfma_f32_16x16x16_f16", {"CBSZ": 1}),
        ("v_mfma_f32_16x16x16_f16", {"BLGP": 1}),
        ("v_mfma_f32_32x32x4_2b_f16", {"CBSZ": 2}),
        ("v_mfma_f32_4x4x4_16b_f16", {"CBSZ": 1, "ABID": 2}),
        ("v_mfma_f64_4x4x4_4b_f64", {"CBSZ": 1}),
    ],
)
def test_modifiers_without_meaning(name: str, fields: dict[str, int]) -> None:
    row = next(row for row in ALL if row["mnemonic"] == name)
    with pytest.raises(wave_runtime.KernelFault, match=r"cbsz|abid|blgp"):
        machine.run(machine.encode(row, VDST=0, SRC0=256, SRC1=256, SRC2=256, **fields), State(1))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("f16", "v_mfma_f32_16x16x16_f16"),
        ("bf16", "v_mfma_f32_16x16x16_bf16"),
        ("xf32", "v_mfma_f32_16x16x8_xf32"),
        ("bf8", "v_mfma_f32_16x16x32_bf8_bf8"),
    ],
)
@pytest.mark.parametrize("nan_row", [0, 3])
def test_published_sums(kind: str, name: str, nan_row: int) -> None:
    """Each in a wave of its own, as row and column 0. A NaN in row 3 has all sums made one by one."""
    if not EXACT:
        does_not_apply("test_exact_sums runs it with exact sums")
    sums = [case for case in SUMS if case.kind == kind]
    row, shape, state = next(row for row in ALL if row["mnemonic"] == name), Shape(name), State(len(sums))
    number, lane = shape.input(shape.depth)
    d, out_lane = shape.output()
    for wave, case in enumerate(sums):
        for side, first in ((0, 0), (1, 8)):
            values = torch.zeros(LANES, shape.depth * shape.size // LANES, dtype=ELEMENTS[kind].tensor)
            for k, factors_ in enumerate(case.factors):
                values[lane[0, 0, k], number[0, 0, k]] = factors_[side]
                assert float(values[lane[0, 0, k], number[0, 0, k]]) == factors_[side]
            if nan_row:
                values[lane[0, nan_row, 0], number[0, nan_row, 0]] = float("nan")
            words = values.view(SIGNED[shape.bits]).numpy().view(np.uint32)
            state.v[wave, first : first + words.shape[1]] = words.T
        state.v[wave, 16 + d[0, 0, 0], out_lane[0, 0, 0]] = np.float32(case.c).view(np.uint32)
        assert np.float32(case.c) == case.c
    after = machine.run(machine.encode(row, SRC0=256, SRC1=256 + 8, SRC2=256 + 16, VDST=16), state)
    found = after.v[:, 16 + d[0, 0, 0], out_lane[0, 0, 0]].view(np.float32)
    differ = [(case, value) for case, value in zip(sums, found, strict=True) if not np.array_equal(case.d, value, True)]
    assert not differ, differ


def test_xf32_cuts_off_a_nan_that_has_only_low_bits() -> None:
    """It becomes an infinity (triton-lang/triton #11783)."""
    row, state = next(row for row in ALL if row["mnemonic"] == "v_mfma_f32_16x16x8_xf32"), State(1)
    state.v[0, 0, :2] = [0x7F800001, 0x7FC00000]  # k = 0 of rows 0 and 1
    state.v[0, 8] = 0x3F800000
    after = machine.run(machine.encode(row, SRC0=256, SRC1=256 + 8, SRC2=128, VDST=16), state)
    number, lane = (places[0, :2, 0] for places in Shape(row_id(row)).output())
    found = after.v[0, 16 + number, lane].view(np.float32)
    assert found[0] == np.inf
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    ("name", "flushes"),
    [("v_mfma_f32_16x16x4_f32", True), ("v_mfma_f32_4x4x1_16b_f32", True), ("v_mfma_f32_16x16x8_xf32", False)],
)
def test_denormals_of_f32_factors_by_mode(name: str, flushes: bool) -> None:
    """MODE makes zeros of those of A and B, but not of C and D, and not for XF32 (ISA document, section 7.3)."""
    row, small = next(row for row in ALL if row["mnemonic"] == name), 0x2000
    huge = np.float32(2.0**24).view(np.uint32)
    for mode, kept in ((0x3F0, True), (0x3D0, True), (0x3E0, not flushes), (0x3C0, not flushes)):
        for a, b in ((small, huge), (huge, small)):
            state = State(1)
            state.mode[:], state.v[0, 0], state.v[0, 8], state.v[0, 16:20] = mode, a, b, 5
            after = machine.run(machine.encode(row, SRC0=256, SRC1=256 + 8, SRC2=256 + 16, VDST=16), state).v[0, 16]
            assert ((after > 5) == kept).all()
            assert kept or (after == 5).all()


def test_exact_sums() -> None:
    """The environment variable is read once: the tests of products run anew in a process that has it."""
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "test_product or published"]
    done = warm_python.run(*command, env={**os.environ, "WAVE_RUNTIME_MFMA": "exact"})
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
