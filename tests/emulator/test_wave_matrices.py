"""WMMA and SWMMAC of RDNA against the model in wave_matrix_model.py, and a GEMM in HIP beside torch."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
import rdna_machine as machine
import warm_python
import wave_matrix_model as model
from matrix_model import EXACT
from rdna_machine import State
from test_rdna_instructions import encode as encode_any
from test_rdna_rare_instructions import hardware_register
from wave_matrix_model import BITS, SIZE, Array, Product

import wave_runtime
from wave_runtime import _C

TARGETS = {"gfx1100": 11, "gfx1201": 12}
WAVES = 3  # ordinary values, those and some that are anything, denormals and zeros
CASES = [
    (target, lanes, name)
    for target, lanes in itertools.product(TARGETS, (32, 64))
    for name in machine.rows(target)
    if name.startswith(("v_wmma", "v_swmmac"))
]
D, A, B, C, INDEX = 0, 8, 16, 24, 40  # registers; D is C where that is said


def encode(target: str, name: str, **fields: int) -> list[int]:
    bits = int(machine.rows(target)[name]["match"])
    places = _C.isa_fields(target)["VOP3P"]
    for field, value in fields.items():
        low, width = places[field]
        assert 0 <= value < 1 << width
        bits = bits & ~(((1 << width) - 1) << low) | value << low
    return [bits & 0xFFFFFFFF, bits >> 32]


def random_rows(rng: np.random.Generator, element: str, registers: int, lanes: int) -> Array:
    """[wave, register, lane]: ordinary values in the first wave."""
    shape = (WAVES, lanes, registers * 32 // BITS[element])
    wild = rng.integers(0, 1 << 32, (WAVES, registers, lanes), dtype=np.uint32)
    if element in ("iu4", "iu8", "i32"):
        return wild
    ordinary = model.torch.from_numpy(rng.standard_normal(shape) * 4).to(model.TENSORS[element])
    bits = BITS[element]
    kind = {8: np.uint8, 16: np.uint16, 32: np.uint32}[bits]
    found = ordinary.view(model.torch.uint8).numpy().view(kind).reshape(shape).copy()
    small = rng.choice(np.array([0, 1 << bits - 1, 1, 3], dtype=kind), shape)
    found[2] = np.where(rng.random(shape) < 0.6, small, found)[2]
    rows = np.ascontiguousarray(found).view(np.uint32).transpose(0, 2, 1).copy()
    rows[1] = np.where(rng.random(rows.shape) < 0.03, wild, rows)[1]
    return rows


def replicated(rows: Array) -> Array:
    """The first 16 lanes in each 16, as RDNA3 asks of factors."""
    return np.tile(rows[:, :, :SIZE], (1, 1, rows.shape[2] // SIZE))


class Trial:
    def __init__(self, target: str, lanes: int, name: str, seed: int) -> None:
        self.target, self.name = target, name
        self.product = Product(name, TARGETS[target], lanes)
        self.rng = rng = np.random.default_rng([seed, lanes, *name.encode()])
        self.state = State(WAVES, lanes)
        self.state.v[:] = rng.integers(0, 1 << 32, self.state.v.shape, dtype=np.uint32)
        self.state.exec[:, : lanes // 32] = rng.integers(0, 1 << 32, (WAVES, lanes // 32), dtype=np.uint32)
        self.counts = self.product.registers()
        for first, element, count in ((A, self.product.a, self.counts[1]), (B, self.product.b, self.counts[2])):
            rows = random_rows(rng, element, count, lanes)
            self.state.v[:, first : first + count] = replicated(rows) if target == "gfx1100" else rows
        for first in (C, D):
            self.state.v[:, first : first + self.counts[0]] = random_rows(rng, self.product.d, self.counts[0], lanes)

    def fields(self) -> dict[str, int]:
        """Modifiers that the instruction takes, at random."""
        modifiers = machine.rows(self.target)[self.name]["modifiers"]
        sparse = self.product.sparse
        found = {"NEG": int(self.rng.integers(8)) & (3 if sparse else 7), "NEG_HI": 0, "CLAMP": 0, "OP_SEL": 0}
        if "NegLo" not in modifiers:
            found["NEG"] = 0
        elif BITS[self.product.a] == 8 and not self.product.a.startswith("i"):
            found["NEG"] &= 4  # FP8: of C alone
        elif self.product.a.startswith("i"):
            found["NEG"] &= 3
        if "NegHi" in modifiers and not self.product.a.startswith("i"):
            found["NEG_HI"] = int(self.rng.integers(8)) & (3 if sparse else 7 if BITS[self.product.a] > 8 else 4)
        if "Clamp" in modifiers:
            found["CLAMP"] = int(self.rng.integers(2))
        if sparse:
            found["OP_SEL"] = int(self.rng.integers(self.product.index_sets()))
        elif "OpSel" in modifiers:
            found["OP_SEL"] = 4 * int(self.rng.integers(2))
        return found

    def expected(self, fields: dict[str, int], c: Array) -> Array:
        product, v = self.product, self.state.v
        neg = [fields["NEG"] >> i & 1 for i in range(3)]
        high = [fields["NEG_HI"] >> i & 1 for i in range(3)]
        a = model.factor(product, v[:, A : A + self.counts[1]], "a", neg[0], high[0])
        b = model.factor(product, v[:, B : B + self.counts[2]], "b", neg[1], high[1])
        if product.sparse:
            partners = model.gather(product, b, v[:, INDEX], fields["OP_SEL"])
            sums = model.multiply(product, a, partners, model.addend(product, c, 0, 0, 0), fields["CLAMP"])
        else:
            start = model.addend(product, c, fields["OP_SEL"], neg[2], high[2])
            if model.sums_exactly(product):
                return self.stored(model.multiply_exactly(product, a, b, start), fields)
            sums = model.multiply(product, a, b.transpose(0, 2, 1)[:, None], start, fields["CLAMP"])
        return self.stored(model.rounded(product, sums), fields)

    def stored(self, d: Array, fields: dict[str, int]) -> Array:
        return model.stored(self.product, d, self.state.v[:, D : D + self.counts[0]], fields["OP_SEL"])

    def run(self, source: int) -> None:
        """With C in registers (of its own, or D), or a constant."""
        fields, count = self.fields(), self.counts[0]
        c = self.state.v[:, source - 256 : source - 256 + count] if source >= 256 else self.constant(source)
        if self.product.sparse:
            source, c = 256 + INDEX, self.state.v[:, D : D + count]
        expected = self.expected(fields, c)
        words = encode(self.target, self.name, VDST=D, SRC0=256 + A, SRC1=256 + B, SRC2=source, **fields)
        after = machine.run(self.target, words, self.state)
        assert self.same(after.v[:, D : D + count], expected), (words, fields)
        after.v[:, D : D + count] = self.state.v[:, D : D + count]
        for name in machine.NAMES:
            assert np.array_equal(getattr(after, name), getattr(self.state, name)), name

    def constant(self, code: int) -> Array:
        """An inline constant as C: 1 as a float or as an integer."""
        ones = {"f32": 0x3F800000, "f16": 0x3C003C00, "bf16": 0x3F803F80, "i32": 0x3F800000}
        assert code == 242
        shape = (WAVES, self.counts[0], self.product.lanes)
        return np.full(shape, ones[self.product.d], dtype=np.uint32)

    def same(self, found: Array, expected: Array) -> bool:
        """In every bit, but that any NaN equals any NaN."""
        if self.product.d == "i32":
            return np.array_equal(found, expected)
        bits, infinity = {"f32": (32, 0x7F800000), "f16": (16, 0x7C00), "bf16": (16, 0x7F80)}[self.product.d]
        x, y = (np.ascontiguousarray(rows).view({16: np.uint16, 32: np.uint32}[bits]) for rows in (found, expected))
        magnitude = (1 << bits - 1) - 1
        return bool(np.all((x == y) | ((x & magnitude > infinity) & (y & magnitude > infinity))))


@pytest.mark.parametrize(("target", "lanes", "name"), CASES)
def test_product(target: str, lanes: int, name: str) -> None:
    """Modifiers and EXEC are random: these instructions do not look at EXEC."""
    for seed, source in enumerate([256 + C, 256 + D, 242, 256 + C][: 1 if EXACT else None]):  # the model is slow
        Trial(target, lanes, name, seed).run(source)


@pytest.mark.parametrize("saturates", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_product_that_f16_does_not_hold(target: str, saturates: int) -> None:
    """MODE.FP16_OVFL says whether it is infinity or the largest number."""
    state = State(1, 32)
    state.s[0, 21] = saturates
    state.v[0, A : A + 8], state.v[0, B : B + 8] = 0x7BFF7BFF, 0x3C003C00  # 65504 and 1
    write = encode_any(target, "s_setreg_b32", "SOPK", SDST=21, SIMM16=hardware_register(1, 23, 1))
    product = encode(target, "v_wmma_f16_16x16x16_f16", VDST=D, SRC0=256 + A, SRC1=256 + B, SRC2=128)
    after = machine.run(target, [*write, *product], state)
    assert (after.v[0, D] & 0xFFFF == (0x7BFF if saturates else 0x7C00)).all()


def test_exact_sums() -> None:
    """The environment variable is read once: the tests of products run anew in a process that has it."""
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "test_product"]
    done = warm_python.run(*command, env={**os.environ, "WAVE_RUNTIME_MFMA": "exact"})
    assert done.returncode == 0, done.stdout


def test_all_are_implemented() -> None:
    for target in TARGETS:
        names = {name for other, _, name in CASES if other == target}
        assert names <= set(_C.implemented_instructions(target))
    assert len(CASES) == 2 * (6 + 22)


@pytest.mark.parametrize(("lanes", "group"), [(32, 16), (64, 16), (64, 32), (64, 48)])
@pytest.mark.parametrize("lane", [0, 13, 15])
@pytest.mark.parametrize(("register", "factor"), [(A, "A"), (B + 7, "B")])
def test_factors_of_rdna3_must_be_replicated(lanes: int, group: int, lane: int, register: int, factor: str) -> None:
    trial = Trial("gfx1100", lanes, "v_wmma_f32_16x16x16_f16", 0)
    trial.state.v[:, register, group + lane] ^= 1
    words = encode(trial.target, trial.name, VDST=D, SRC0=256 + A, SRC1=256 + B, SRC2=256 + C)
    expected = f"but for the order of k: {factor} differs in lanes {group} to {group + 15}"
    with pytest.raises(wave_runtime.KernelFault, match=expected):
        machine.run(trial.target, words, trial.state)


def reorder(trial: Trial, factors: tuple[int, ...], group: int) -> None:
    """Exchanges the registers of each pair in 16 lanes, as rocWMMA has them."""
    lanes = slice(group, group + SIZE)
    for factor in factors:
        for register in range(factor, factor + trial.counts[1], 2):
            pair = trial.state.v[:, register : register + 2, lanes]
            trial.state.v[:, register : register + 2, lanes] = pair[:, ::-1].copy()


@pytest.mark.parametrize(("target", "lanes", "name"), [case for case in CASES if case[0] == "gfx1100"])
def test_factors_of_rdna3_in_another_order(target: str, lanes: int, name: str) -> None:
    """The same products, whichever lanes' factors are taken: rocWMMA does so in the lanes from 16 on."""
    trial = Trial(target, lanes, name, 0)
    for group in range(SIZE, lanes, 2 * SIZE):
        reorder(trial, (A, B), group)
    trial.run(256 + C)


@pytest.mark.parametrize(("moved", "factor"), [(A, "A"), (B, "B")])
def test_factors_of_rdna3_in_orders_of_their_own(moved: int, factor: str) -> None:
    trial = Trial("gfx1100", 32, "v_wmma_i32_16x16x16_iu8", 0)
    reorder(trial, (moved,), SIZE)
    words = encode(trial.target, trial.name, VDST=D, SRC0=256 + A, SRC1=256 + B, SRC2=256 + C)
    with pytest.raises(wave_runtime.KernelFault, match=f"the order of k: {factor} differs in lanes 16 to 31"):
        machine.run(trial.target, words, trial.state)


@pytest.mark.parametrize(("lanes", "name", "sets"), [
    (32, "v_swmmac_f32_16x16x32_f16", 2), (64, "v_swmmac_f32_16x16x32_f16", 4),
    (32, "v_swmmac_i32_16x16x32_iu4", 2), (64, "v_swmmac_i32_16x16x32_iu4", 2),
    (32, "v_swmmac_i32_16x16x64_iu4", 1), (64, "v_swmmac_i32_16x16x64_iu4", 2),
])  # fmt: skip
def test_sets_of_indices(lanes: int, name: str, sets: int) -> None:
    """As many as LLVM accepts as index_key; the next one is no instruction."""
    assert Product(name, 12, lanes).index_sets() == sets
    words = encode("gfx1201", name, VDST=D, SRC0=256 + A, SRC1=256 + B, SRC2=256 + INDEX, OP_SEL=sets)
    with pytest.raises(wave_runtime.KernelFault, match="an instruction that gfx1201 does not have"):
        machine.run("gfx1201", words, State(1, lanes))
