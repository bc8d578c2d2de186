"""Instructions that gfx950 has and gfx942 lacks, or has with other formats, against models of their own."""

from __future__ import annotations

import re
from typing import Any

import machine
import numpy as np
import numpy.typing as npt
import pytest
import torch
from machine import LANES, State, encode
from model import cdna4
from simd_levels import LEVELS, run_again

from wave_runtime import _C

Array = npt.NDArray[Any]

ROWS = {row["mnemonic"]: row for row in machine.isa_rows("gfx950")}
PLAIN = ("VOP1", "VOP2", "VOP3", "VOP3P")
VECTOR = 256  # the first vector register, as a source
WAVES = 2  # the first with all lanes enabled
ARITHMETIC = sorted(
    name
    for name, row in ROWS.items()
    if row["format"] in PLAIN and row["base_name"] in cdna4.CONVERSIONS | cdna4.INTEGERS
)
OLDER = {row["mnemonic"] for row in machine.ROWS}
MATRICES = sorted(name for name in ROWS if re.match(r"v_s?mfma", name) and name not in OLDER)
OCP = [name for name in ROWS if re.match(r"v_s?mfmac?_f32_.*_[bf][fp]8", name)]
MORE = r"v_bitop3_b(16|32)|v_permlane(16|32)_swap_b32|v_(minimum|maximum)3_f32|v_pk_(minimum|maximum)3_f16|" \
    r"v_dot2c?_f32_bf16|ds_read_b\d+_tr_b\d+|global_load_lds_dwordx[34]|buffer_atomic_pk_add_bf16"  # fmt: skip


def run(words: list[int], state: State, buffer: torch.Tensor | None = None) -> State:
    return machine.run(words, state, buffer, "gfx950")


def test_every_new_instruction_is_tested_here() -> None:
    new = set(_C.implemented_instructions("gfx950")) - set(_C.implemented_instructions("gfx942"))
    tested = set(cdna4.CONVERSIONS) | set(cdna4.INTEGERS) | {ROWS[name]["base_name"] for name in MATRICES}
    assert {name for name in new - tested if not re.fullmatch(MORE, name)} == set()


def test_what_gfx950_lacks_or_has_not_is_refused() -> None:
    """It has no XF32; of its own instructions none is left out."""
    assert not any("xf32" in name for name in ROWS)
    names = {row["base_name"] for row in ROWS.values()}
    left_out = {row["base_name"] for row in _C.isa_rows("gfx942")} - set(_C.implemented_instructions("gfx942"))
    assert names - set(_C.implemented_instructions("gfx950")) == left_out


def random_words(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(0, 1 << 32, shape, dtype=np.uint32)


def random_state(rng: np.random.Generator, waves: int = WAVES) -> State:
    state = State(waves)
    for array in (state.s, state.v, state.a, state.lds):
        array[...] = random_words(rng, *array.shape)
    state.exec[1:] = random_words(rng, waves - 1, 2)
    return state


def floats(rng: np.random.Generator, kind: str, *shape: int) -> Array:
    """Dwords of f32 or of pairs of 16 bits: ordinary values over many exponents, and some that are anything."""
    ordinary = torch.from_numpy(rng.standard_normal((*shape, 2)) * 2.0 ** rng.integers(-14, 14, (*shape, 2)))
    if kind == "f32":
        codes = ordinary[..., 0].to(torch.float32).numpy().view(np.uint32)
    else:
        halves = ordinary.to({"f16": torch.float16, "bf16": torch.bfloat16}[kind]).view(torch.int16).numpy()
        codes = np.ascontiguousarray(halves).view(np.uint32)[..., 0]
    special = np.array([0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x7C007E00], dtype=np.uint32)
    chosen = rng.random(shape)
    wild = np.where(rng.random(shape) < 0.5, random_words(rng, *shape), rng.choice(special, shape))
    return np.where(chosen < 0.1, wild, codes)


def scales(rng: np.random.Generator, *shape: int) -> Array:
    exponents = np.where(rng.random(shape) < 0.05, rng.choice([0, 1, 254, 255], shape), rng.integers(118, 136, shape))
    return (exponents.astype(np.uint32) << 23) | rng.integers(0, 1 << 23, shape, dtype=np.uint32)


def canonical(words: list[int], types: str) -> list[int]:
    """NaNs of one kind: which of them hardware gives is not known."""
    if types == "f32":
        return [0x7FC00000 if (word & 0x7FFFFFFF) > 0x7F800000 else word for word in words]
    if types in ("f16", "bf16"):
        infinity = {"f16": 0x7C00, "bf16": 0x7F80}[types]
        halves = [
            half if half & 0x7FFF <= infinity else infinity + 1
            for word in words
            for half in (word & 0xFFFF, word >> 16)
        ]
        return halves
    return words


def result_type(name: str) -> str:
    """f32, f16 or bf16 where the destination has them, else "bits"."""
    parts = re.sub(r"_(e32|e64)$", "", name).split("_")
    kinds = [part for part in parts if part in ("f32", "f16", "bf16", "fp8", "bf8", "fp6", "bf6", "fp4")]
    return kinds[0] if len(kinds) > 1 and kinds[0] in ("f32", "f16", "bf16") else "bits"


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_on_lanes(name: str) -> None:
    """All OP_SEL that the instruction takes, in turn. Inactive lanes keep what they have."""
    row = ROWS[name]
    base = str(row["base_name"])
    lane = (cdna4.CONVERSIONS | cdna4.INTEGERS)[base]
    rng = np.random.default_rng(len(name))
    sources = [operand for operand in row["operands"] if not operand["written"]]
    kinds = [part for part in base.split("_") if part in ("f32", "f16", "bf16")]
    low, width = machine.FIELDS[row["format"]].get("OP_SEL", (0, 0))
    takes = set(row["modifiers"]) & {"OpSel", "OpSelDst", "OpSelByte"}
    for op_sel in range(16) if takes and width == 4 else [0]:
        if row["mask"] >> low & op_sel or row["ignored"] >> low & op_sel & 15:
            continue
        if "OpSelByte" in takes and op_sel & 3:
            continue  # of sources that have no halves
        state = random_state(rng)
        fields, first = {"VDST": 0}, row["operands"][0]["dwords"] + row["operands"][0]["dwords"] % 2
        places = []
        for operand in sources:
            fields[operand["field"]] = first + (VECTOR if operand["field"] != "VSRC1" else 0)
            rows = state.v[:, first : first + operand["dwords"]]
            if operand is sources[-1] and "scale" in base:
                rows[...] = scales(rng, *rows.shape)
            elif kinds and kinds[-1] != result_type(name) and operand["type"] != "B32":
                rows[...] = floats(rng, kinds[-1], *rows.shape)
            places.append((first, operand["dwords"]))
            first += operand["dwords"] + operand["dwords"] % 2
        after = run(encode(row, **fields, **({"OP_SEL": op_sel} if op_sel else {})), state)
        count = row["operands"][0]["dwords"]
        for wave in range(WAVES):
            mask = int(state.exec[wave, 0]) | int(state.exec[wave, 1]) << 32
            for at in range(wave * 7, LANES, 1 if count < 6 and op_sel in (0, 15) else 5):
                old = [int(word) for word in state.v[wave, :count, at]]
                given = [[int(word) for word in state.v[wave, f : f + n, at]] for f, n in places]
                wanted = lane(given, old, op_sel) if mask >> at & 1 else old
                found = [int(word) for word in after.v[wave, :count, at]]
                kind = result_type(name)
                assert canonical(found, kind) == canonical(wanted, kind), (
                    f"{name} op_sel {op_sel:#x}: {[[hex(w) for w in words] for words in given]} gives "
                    f"{[hex(w) for w in found]}, must be {[hex(w) for w in wanted]}"
                )
        assert np.array_equal(after.v[:, count:], state.v[:, count:])


def test_overflow_to_fp8_is_the_largest_number_with_fp16_ovfl() -> None:
    state = State(1)
    state.mode[:] |= 1 << 23
    state.v[0, 2] = np.float32(1e6).view(np.uint32)
    state.v[0, 3] = np.float32(-np.inf).view(np.uint32)
    fields = {"SRC0": VECTOR + 2, "SRC1": VECTOR + 3}
    after = run([word for i, kind in enumerate(("fp8", "bf8"))
                 for word in encode(ROWS[f"v_cvt_pk_{kind}_f32"], VDST=i, **fields)], state)  # fmt: skip
    assert [int(after.v[0, i, 0]) for i in (0, 1)] == [0xFE7E, 0xFB7B]


@pytest.mark.parametrize("bits", [16, 32])
def test_bitop3(bits: int) -> None:
    row, rng = ROWS[f"v_bitop3_b{bits}"], np.random.default_rng(bits)
    for table in range(256):
        state = random_state(rng)
        fields = {"OMOD": table >> 6, "ABS": table >> 3 & 7, "NEG": table & 7}
        halves = {"OP_SEL": int(rng.integers(16))} if bits == 16 else {}
        words = encode(row, VDST=0, SRC0=VECTOR + 1, SRC1=VECTOR + 2, SRC2=VECTOR + 3, **fields, **halves)
        after, op_sel = run(words, state), halves.get("OP_SEL", 0)
        for at in (0, 17, 63):
            sources = [[int(state.v[0, 1 + i, at]) >> (16 if op_sel >> i & 1 else 0)] for i in range(3)]
            result = cdna4.bitop3(sources, table, bits)
            wanted = cdna4.put(int(state.v[0, 0, at]), result, 16 * (op_sel >> 3), bits)
            assert int(after.v[0, 0, at]) == wanted, (table, op_sel)


@pytest.mark.parametrize("count", [16, 32])
@pytest.mark.parametrize("op_sel", range(4))
def test_swaps_of_lanes(count: int, op_sel: int) -> None:
    """FI takes what lanes have that are not enabled; without it BOUND_CTRL makes it zero, else the lane stays."""
    rng = np.random.default_rng(count)
    state = random_state(rng)
    row = ROWS[f"v_permlane{count}_swap_b32_e64"]
    after = run(encode(row, VDST=4, SRC0=9, OP_SEL=op_sel), state)
    for wave in range(WAVES):
        mask = int(state.exec[wave, 0]) | int(state.exec[wave, 1]) << 32
        first, second = state.v[wave, 4].copy(), state.v[wave, 9].copy()
        for lane in (lane for lane in range(LANES) if lane & count):
            for target, to, source, at in ((first, lane, second, lane - count), (second, lane - count, first, lane)):
                original = state.v[wave, 9 if source is second else 4, at]
                if mask >> to & 1 and (op_sel & 1 or mask >> at & 1):
                    target[to] = original
                elif mask >> to & 1 and op_sel & 2:
                    target[to] = 0
        assert np.array_equal(after.v[wave, 4], first)
        assert np.array_equal(after.v[wave, 9], second)


@pytest.mark.parametrize("kind", ["minimum", "maximum"])
def test_extrema_that_give_nan(kind: str) -> None:
    """NaN where one of three is a NaN; -0 is less than +0."""
    rng = np.random.default_rng(3)
    state = random_state(rng)
    state.v[:, 4:7] = floats(rng, "f32", WAVES, 3, LANES)
    state.v[:, 8:11] = floats(rng, "f16", WAVES, 3, LANES)
    sources = {"SRC0": VECTOR + 4, "SRC1": VECTOR + 5, "SRC2": VECTOR + 6}
    halves = {"SRC0": VECTOR + 8, "SRC1": VECTOR + 9, "SRC2": VECTOR + 10, "OP_SEL_HI": 3, "OP_SEL_HI2": 1}
    state.exec[:] = 0xFFFFFFFF
    words = [*encode(ROWS[f"v_{kind}3_f32"], VDST=0, **sources), *encode(ROWS[f"v_pk_{kind}3_f16"], VDST=1, **halves)]
    after = run(words, state)
    choose = getattr(torch, kind)

    def three(values: torch.Tensor) -> torch.Tensor:
        return choose(choose(values[0], values[1]), values[2])

    for wave in range(WAVES):
        wanted = three(torch.from_numpy(state.v[wave, 4:7].view(np.float32)))
        found = torch.from_numpy(after.v[wave, 0].view(np.float32))
        assert torch.equal(wanted.isnan(), found.isnan())
        assert torch.equal(wanted.nan_to_num(0), found.nan_to_num(0))
        packed = torch.from_numpy(np.ascontiguousarray(state.v[wave, 8:11]).view(np.float16))
        result = torch.from_numpy(np.ascontiguousarray(after.v[wave, 1]).view(np.float16))
        assert torch.equal(three(packed).nan_to_num(0), result.nan_to_num(0))


@pytest.mark.parametrize("name", ["v_dot2_f32_bf16", "v_dot2c_f32_bf16_e32"])
def test_dot_products_of_bf16(name: str) -> None:
    """Two fused multiply-adds; in f64 they are within two roundings of that."""
    rng, row = np.random.default_rng(5), ROWS[name]
    state = random_state(rng, 1)
    a, b = (torch.from_numpy(rng.standard_normal((LANES, 2))).to(torch.bfloat16) for _ in range(2))
    c = torch.from_numpy(rng.standard_normal(LANES)).to(torch.float32)
    for i, values in enumerate((a, b)):
        state.v[0, 4 + i] = np.ascontiguousarray(values.view(torch.int16).numpy()).view(np.uint32)[:, 0]
    state.v[0, 6] = c.numpy().view(np.uint32)
    if row["format"] == "VOP2":
        words = encode(row, VDST=6, SRC0=VECTOR + 4, VSRC1=5)
    else:
        words = encode(row, VDST=6, SRC0=VECTOR + 4, SRC1=VECTOR + 5, SRC2=VECTOR + 6, OP_SEL_HI=3, OP_SEL_HI2=1)
    found = run(words, state).v[0, 6].view(np.float32)
    exact = (a.double() * b.double()).sum(1) + c.double()
    bound = 2**-23 * ((a.double() * b.double()).abs().sum(1) + c.double().abs())
    assert bool((torch.from_numpy(found.astype(np.float64)) - exact).abs().le(bound).all())


# LDS.


@pytest.mark.parametrize(("name", "bits"), [("ds_read_b64_tr_b16", 16), ("ds_read_b64_tr_b8", 8),
                                            ("ds_read_b96_tr_b6", 6), ("ds_read_b64_tr_b4", 4)])  # fmt: skip
def test_loads_that_transpose(name: str, bits: int) -> None:
    """16 lanes have as many rows of 16 elements as a register pair (of 6 bits: three registers) has elements."""
    rng, dwords = np.random.default_rng(bits), 3 if bits == 6 else 2
    elements = 32 * dwords // bits
    state = State(1)
    state.lds[...] = random_words(rng, *state.lds.shape)
    places = rng.permutation(256 // dwords)[:LANES]
    state.v[0, 40] = 4 * dwords * places
    first = 7 if bits == 6 else 6  # which may begin at an odd register
    after = run(encode(ROWS[name], VDST=first, ADDR=40), state)
    loaded = [
        cdna4.unstream([int(w) for w in state.lds[0, dwords * at : dwords * (at + 1)]], bits, elements) for at in places
    ]
    for group in range(0, LANES, 16):
        matrix = np.array(loaded[group : group + 16]).reshape(elements, 16)
        for column in range(16):
            wanted = cdna4.stream([int(value) for value in matrix[:, column]], bits)
            assert [int(w) for w in after.v[0, first : first + dwords, group + column]] == wanted


@pytest.mark.parametrize("dwords", [3, 4])
@pytest.mark.parametrize("buffer", [False, True])
def test_loads_of_several_dwords_into_lds(dwords: int, buffer: bool) -> None:
    """A lane's dwords lie 16 bytes behind those of the lane before, three or four of them."""
    rng = np.random.default_rng(dwords)
    memory = torch.from_numpy(rng.integers(0, 256, 4096, dtype=np.uint8))
    state, places = State(1), rng.permutation(4096 // 16)[:LANES] * 16
    state.exec[:] = 0xFFFFFFFF
    state.m0[:] = 0
    state.lds[...] = random_words(rng, *state.lds.shape)
    state.s[0, 4:6] = np.array([memory.data_ptr()], dtype=np.uint64).view(np.uint32)
    state.v[0, 8] = places
    if buffer:
        state.s[0, 6:8] = [4096, 0x00020000]  # no stride; the format is not looked at
        name = f"buffer_load_dwordx{dwords}"
        words = encode(ROWS[name], VADDR=8, OFFEN=1, SRSRC=1, SOFFSET=128, LDS=1)
    else:
        words = encode(ROWS[f"global_load_lds_dwordx{dwords}"], ADDR=8, SADDR=4)
    found, wanted = run(words, state, memory).lds[0], state.lds[0].copy()
    source = memory.numpy().view(np.uint32)
    for lane, place in enumerate(places):
        wanted[4 * lane : 4 * lane + dwords] = source[place // 4 : place // 4 + dwords]
    assert np.array_equal(found, wanted)


def test_atomic_addition_of_pairs_of_bf16_in_buffers() -> None:
    memory = torch.zeros(64, dtype=torch.uint8)
    state = State(1)
    state.s[0, 4:6] = np.array([memory.data_ptr()], dtype=np.uint64).view(np.uint32)
    state.s[0, 6:8] = [64, 0x00020000]
    state.v[0, 8], state.v[0, 9] = 4 * (np.arange(LANES) % 16), 0x40003F80  # 1 and 2
    run(encode(ROWS["buffer_atomic_pk_add_bf16"], VADDR=8, VDATA=9, OFFEN=1, SRSRC=1, SOFFSET=128), state, memory)
    assert memory.view(torch.bfloat16).reshape(16, 2).tolist() == [[4.0, 8.0]] * 16


# Matrices. A lane has a row of A (a column of B): `place` says which k its elements have.

SHAPE = re.compile(r"v_(s?mfmac?)(_scale)?_([fi]32)_(\d+)x\d+x(\d+)_(\w+)")


def decoder(kind: str) -> Array:
    """The values of all codes."""
    if kind in cdna4.SMALL:
        small = cdna4.SMALL[kind]
        return np.array([small.value(code) for code in range(1 << small.bits)])
    codes = torch.arange(256, dtype=torch.int16).to(torch.int8) if kind == "i8" else torch.arange(65536).to(torch.int16)
    dtype = {"i8": torch.int8, "f16": torch.float16, "bf16": torch.bfloat16}[kind]
    return codes.view(dtype).double().numpy()


def bits_of(kind: str) -> int:
    return cdna4.SMALL[kind].bits if kind in cdna4.SMALL else {"i8": 8, "f16": 16, "bf16": 16}[kind]


def random_factor(rng: np.random.Generator, kind: str, count: int) -> tuple[Array, Array]:
    """Codes [lane, element] of finite values of middling size, and the values."""
    values = decoder(kind)
    usable = np.flatnonzero(np.isfinite(values) & (np.abs(values) < 130) & ((values == 0) | (np.abs(values) > 2**-8)))
    codes = rng.choice(usable, (LANES, count))
    return codes, values[codes]


def registers(codes: Array, bits: int) -> Array:
    """[register, lane]."""
    return np.array([cdna4.stream([int(code) for code in lane], bits) for lane in codes], dtype=np.uint32).T


def places(size: int, count: int, run: int = 0) -> tuple[Array, Array]:
    """Rows and k of [lane, element]: consecutive k in a lane, or runs of `run`, with one of each lane between them."""
    lane, element = np.divmod(np.arange(LANES * count).reshape(LANES, count), count)
    run = run or count
    return lane % size, element % run + run * (lane // size) + run * (LANES // size) * (element // run)


def result_places(size: int) -> tuple[Array, Array]:
    """Rows and columns of [register, lane] of C and D."""
    register, lane = np.divmod(np.arange(size * size).reshape(-1, LANES), LANES)
    return register // 4 * 4 * (LANES // size) + lane // size * 4 + register % 4, lane % size


def check_product(a: Array, b: Array, c: Array, d: Array, integer: bool) -> None:
    exact, size = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
    if integer:
        assert np.array_equal(d, exact)
    else:
        assert np.all(np.abs(d - exact) <= a.shape[1] * 2.0**-24 * size)


def added_in_order(a: Array, b: Array, c: Array) -> Array:
    """C + A B in f32: products, which f64 holds exactly, are added in ascending k and rounded one by one."""
    for k in range(a.shape[1]):
        c = (c.astype(np.float64) + np.outer(a[:, k], b[k])).astype(np.float32)
    return c


def added_in_blocks(a: Array, b: Array, c: Array, scales_a: Array, scales_b: Array) -> Array:
    """The same with scales [m, k / 32] and [k / 32, n] of blocks of 32, whose sums begin at zero."""
    for i in range(a.shape[1] // 32):
        block = slice(32 * i, 32 * i + 32)
        part = added_in_order(a[:, block], b[block], np.zeros(c.shape, dtype=np.float32)).astype(np.float64)
        with np.errstate(over="ignore"):
            c = (c + part * np.outer(scales_a[:, i], scales_b[i])).astype(np.float32)
    return c


def random_accumulator(rng: np.random.Generator, size: int, integer: bool) -> tuple[Array, Array]:
    """Dwords [register, lane], and the matrix."""
    values = rng.integers(-1000, 1000, (size * size // LANES, LANES)).astype(np.float64 if integer else np.float32) / 8
    values = np.floor(values) if integer else values
    words = values.astype(np.int32).view(np.uint32) if integer else values.view(np.uint32)
    matrix = np.zeros((size, size))
    matrix[result_places(size)] = values
    return words, matrix


DENSE = [name for name in MATRICES + OCP if "mfmac" not in name and "f8f6f4" not in name]


@pytest.mark.parametrize("name", sorted(set(DENSE)))
@pytest.mark.parametrize("accumulate", [0, 1])
def test_dense_products(name: str, accumulate: int) -> None:
    match = SHAPE.fullmatch(name)
    assert match is not None
    size, depth, kinds = int(match[4]), int(match[5]), match[6].split("_")
    rng, count, integer = np.random.default_rng(depth), depth * size // LANES, match[3] == "i32"
    matrices, state = [], random_state(rng, 1)
    for i, kind in enumerate((kinds[0], kinds[-1])):
        codes, values = random_factor(rng, kind, count)
        words = registers(codes, bits_of(kind))
        state.v[0, 8 * i : 8 * i + len(words)] = words
        matrix = np.zeros((size, depth))
        matrix[places(size, count)] = values
        matrices.append(matrix)
    words, c = random_accumulator(rng, size, integer)
    file, first = (state.a, 0) if accumulate else (state.v, 16)
    file[0, first : first + len(words)] = words
    after = run(encode(ROWS[name], VDST=first, SRC0=0, SRC1=8, SRC2=VECTOR + first, ACC_CD=accumulate), state)
    found = (after.a if accumulate else after.v)[0, first : first + len(words)]
    d = np.zeros((size, size))
    d[result_places(size)] = found.view(np.int32 if integer else np.float32)
    check_product(matrices[0], matrices[1].T, c, d, integer)
    if not integer:
        assert np.array_equal(d, added_in_order(matrices[0], matrices[1].T, c))


@pytest.mark.parametrize("name", sorted(name for name in {*MATRICES, *OCP} if "mfmac" in name))
@pytest.mark.parametrize("cbsz", [0, 1])
def test_sparse_products(name: str, cbsz: int) -> None:
    """Of every four consecutive elements of a lane A has two; ABID picks the indices, where there are several sets."""
    match = SHAPE.fullmatch(name)
    assert match is not None
    size, depth, kinds = int(match[4]), int(match[5]), match[6].split("_")
    rng, count, integer = np.random.default_rng(depth), depth * size // LANES, match[3] == "i32"
    state = random_state(rng, 1)
    stored, values_a = random_factor(rng, kinds[0], count // 2)
    codes, values_b = random_factor(rng, kinds[-1], count)
    for first, words in ((0, registers(stored, bits_of(kinds[0]))), (8, registers(codes, bits_of(kinds[-1])))):
        state.v[0, first : first + len(words)] = words
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])[rng.integers(0, 6, (LANES, count // 4))]
    indices = pairs.reshape(LANES, count // 2)
    sets = 32 // count
    abid = int(rng.integers(4))
    shift = count * (abid % sets) if cbsz == 0 else 0
    state.v[0, 50] = [int(w) << shift & 0xFFFFFFFF for w in registers(indices, 2)[0]]
    a, b = np.zeros((size, depth)), np.zeros((size, depth))
    rows, k = places(size, count)
    b[places(size, count, min(count, 128 // bits_of(kinds[-1])))] = values_b  # of gfx950's own, two times 16 bytes
    at = np.arange(count // 2) // 2 * 4 + indices
    a[rows[:, : count // 2], np.take_along_axis(k, at, 1)] = values_a
    words, c = random_accumulator(rng, size, integer)
    state.v[0, 16 : 16 + len(words)] = words
    fields = {"VDST": 16, "SRC0": 0, "SRC1": 8, "SRC2": 50, "CBSZ": cbsz, "ABID": abid}
    found = run(encode(ROWS[name], **fields), state).v[0, 16 : 16 + len(words)]
    d = np.zeros((size, size))
    d[result_places(size)] = found.view(np.int32 if integer else np.float32)
    check_product(a, b.T, c, d, integer)


FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")  # by their codes


# Ranges of exponents: no scales, ordinary ones, and those whose product is no normal number of f32, or overflows.
EXPONENTS = {"none": None, "ordinary": (120, 135), "small": (0, 130), "large": (170, 255)}


@pytest.mark.parametrize("exponents", EXPONENTS)
@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("first", FORMATS)
@pytest.mark.parametrize("second", FORMATS)
def test_products_of_mixed_formats(first: str, second: str, size: int, exponents: str) -> None:
    """Within n 2^-24 (|C| + sum |AB|) of f64 where no result is small, and in the order that the documentation says.

    Lane g of a row has the scale of k = 32 g to 32 g + 31, in any byte.
    """
    depth, between = 2048 // size, EXPONENTS[exponents]
    name = f"v_mfma_{'scale_' if between else ''}f32_{size}x{size}x{depth}_f8f6f4"
    row, rng = ROWS[name], np.random.default_rng(FORMATS.index(first) * 5 + FORMATS.index(second))
    state, matrices, scales, fields, selects = random_state(rng, 1), [], [], {}, rng.integers(0, 4, 2)
    for i, (kind, field) in enumerate(((first, "CBSZ"), (second, "BLGP"))):
        codes, values = random_factor(rng, kind, 32)
        words = registers(codes, bits_of(kind))
        state.v[0, 8 * i : 8 * i + len(words)] = words
        fields[field] = FORMATS.index(kind)
        matrix = np.zeros((size, depth))
        matrix[places(size, 32, 16 if bits_of(kind) == 8 else 0)] = values
        matrices.append(matrix)
        if between:
            codes = rng.integers(*between, LANES)
            state.v[0, 50 + i] = state.v[0, 50 + i] & ~(255 << 8 * selects[i]) | codes << 8 * selects[i]
            lane = np.arange(LANES)
            by = np.zeros((size, depth // 32))
            by[lane % size, lane // size] = 2.0 ** (codes - 127.0)
            scales.append(by)
    words, c = random_accumulator(rng, size, False)
    state.v[0, 16 : 16 + len(words)] = words
    after = run(instruction(row, fields, selects), state)
    d = np.zeros((size, size))
    d[result_places(size)] = after.v[0, 16 : 16 + len(words)].view(np.float32)
    a, b = matrices
    if not between:
        check_product(a, b.T, c, d, False)
        assert np.array_equal(d, added_in_order(a, b.T, c))
        return
    if exponents == "ordinary":
        with_scales = [a * np.repeat(scales[0], 32, axis=1), (b * np.repeat(scales[1], 32, axis=1)).T]
        check_product(*with_scales, c, d, False)
    assert np.array_equal(d, added_in_blocks(a, b.T, c, scales[0], scales[1].T), equal_nan=True)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_code_of_a_small_float(kind: str) -> None:
    """Times one, in every row: 32 of its codes at a time, NaN and infinities, too."""
    row, values = ROWS["v_mfma_f32_32x32x64_f8f6f4"], decoder(kind)
    for begin in range(0, len(values), 32):
        state, codes = State(1), np.zeros((LANES, 32), dtype=np.int64)
        codes[:32, 0] = np.arange(begin, begin + 32) % len(values)  # k = 0 of each row
        words = registers(codes, bits_of(kind))
        state.v[0, : len(words)] = words
        state.v[0, 8, :32] = 2  # FP4's 1.0 at k = 0
        after = run(instruction(row, {"CBSZ": FORMATS.index(kind), "BLGP": 4}, np.zeros(2)), state)
        d = np.zeros((32, 32))
        d[result_places(32)] = after.v[0, 16:32].view(np.float32)
        assert np.array_equal(d, np.repeat(values[codes[:32, :1]], 32, axis=1), equal_nan=True)


@pytest.mark.parametrize("level", LEVELS)
def test_products_at_each_simd_level(level: str) -> None:
    """A process uses one level, and each decodes and multiplies in its own way."""
    run_again(level, __file__, "-k", "(products and not level and (fp8 or fp4 or bf6)) or every_code")


def instruction(row: dict[str, Any], fields: dict[str, int], selects: Array) -> list[int]:
    """The words of a product with A in v[0:7], B in v[8:15], C and D from v16 on, and scales in v50 and v51."""
    fields = {**fields, "VDST": 16, "SRC0": 0, "SRC1": 8, "SRC2": VECTOR + 16}
    if row["format"] == "MAI":
        return encode(row, **fields)
    fields |= {"SRC0": VECTOR, "SRC1": VECTOR + 8, "SCALE_SRC0": 50, "SCALE_SRC1": 51}
    fields |= {"OP_SEL": selects[0] & 1 | (selects[1] & 1) << 1, "OP_SEL_HI": selects[0] >> 1 | selects[1] >> 1 << 1}
    bits = row["match"] | (0xD3800800 | row["opcode"] << 16) << 64
    for name, value in fields.items():
        bits |= int(value) << machine.FIELDS["VOP3PX2"][name][0]
    return [bits >> at & 0xFFFFFFFF for at in range(0, 128, 32)]


def test_a_scale_that_is_nan_makes_nan_of_its_row() -> None:
    row, state = ROWS["v_mfma_scale_f32_16x16x128_f8f6f4"], State(1)
    state.v[0, 50:52] = 0x7F
    state.v[0, 50, 3] = 0xFF  # k = 0 to 31 of row 3
    after = run(instruction(row, {"CBSZ": 4, "BLGP": 4}, np.array([0, 0])), state)
    d = np.zeros((16, 16))
    d[result_places(16)] = after.v[0, 16:20].view(np.float32)
    assert np.isnan(d[3]).all()
    assert (np.delete(d, 3, axis=0) == 0).all()
