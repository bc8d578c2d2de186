"""Instructions of RDNA beyond plain arithmetic: DPP8, packed atomics, and those that it has as gfx942 has them."""

from __future__ import annotations

import functools
import itertools
import math
import re
import struct
from collections.abc import Callable, Mapping

import machine
import numpy as np
import pytest
import rdna_machine
import torch
from rdna_machine import State

import wave_runtime
from wave_runtime import _C

TARGETS = ("gfx1030", "gfx1100", "gfx1150", "gfx1201")
VECTOR = 256  # the first vector register, as a source


def encode(target: str, name: str, format_: str, **fields: int) -> list[int]:
    """The words of an instruction without its formats' last words that have no fields."""
    row = next(row for row in machine.isa_rows(target) if row["mnemonic"] == name and row["format"] == format_)
    bits, places = int(row["match"]), _fields(target)[format_]
    for field, value in fields.items():
        low, width = places[field]
        assert 0 <= value < 1 << width
        bits = bits & ~(((1 << width) - 1) << low) | value << low
    last = max(low + width for low, width in places.values())
    return [bits >> at & 0xFFFFFFFF for at in range(0, last, 32)]


@functools.cache
def _fields(target: str) -> Mapping[str, Mapping[str, tuple[int, int]]]:
    return _C.isa_fields(target)


def random_state(rng: np.random.Generator, waves: int, lanes: int) -> State:
    state = State(waves, lanes)
    state.v[:] = rng.integers(0, 1 << 32, state.v.shape, dtype=np.uint32)
    state.exec[1:, : lanes // 32] = rng.integers(0, 1 << 32, (waves - 1, lanes // 32), dtype=np.uint32)
    return state


def enabled(state: State) -> np.ndarray:
    """[wave, lane]"""
    lane = np.arange(state.lanes)
    return (state.exec[:, lane // 32] >> (lane % 32).astype(np.uint32) & 1).astype(bool)


@pytest.mark.parametrize(("target", "lanes"), list(itertools.product(TARGETS, (32, 64))))
@pytest.mark.parametrize("fetches_inactive", [False, True])
def test_dpp8(target: str, lanes: int, fetches_inactive: bool) -> None:
    """A lane that is disabled reads as zero, unless the instruction reads disabled lanes, too."""
    rng = np.random.default_rng(lanes)
    for name, format_ in (("v_mov_b32_dpp", "VOP1_DPP8"), ("v_xor_b32_dpp", "VOP2_DPP8")):
        chosen = rng.integers(0, 8, 8)
        selectors = sum(int(lane) << 3 * i for i, lane in enumerate(chosen))
        state = random_state(rng, 4, lanes)
        fields = {"DPP_SRC0": 234 if fetches_inactive else 233, "SRC0": 5, "DPP8": selectors, "VDST": 9}
        words = encode(target, name, format_, **fields, **({"VSRC1": 7} if format_ == "VOP2_DPP8" else {}))
        lane = np.arange(lanes)
        source = (lane & ~7) | chosen[lane & 7]
        active = enabled(state)
        moved = np.where(active[:, source] | fetches_inactive, state.v[:, 5][:, source], 0)
        result = moved if format_ == "VOP1_DPP8" else moved ^ state.v[:, 7]
        after = rdna_machine.run(target, words, state)
        assert np.array_equal(after.v[:, 9], np.where(active, result, state.v[:, 9]))
        after.v[:, 9] = state.v[:, 9]
        assert np.array_equal(after.v, state.v)


def same(found: np.ndarray, wanted: np.ndarray) -> bool:
    """f32 in every bit, but that any NaN equals any NaN."""
    return bool(np.all((found == wanted.view(np.uint32)) | (np.isnan(found.view(np.float32)) & np.isnan(wanted))))


@pytest.mark.parametrize(("target", "expected"), [("gfx1100", -(2.0**-24)), ("gfx1201", 0.0)])
def test_a_sum_that_cancels(target: str, expected: float) -> None:
    """1 - 1 * 1: RDNA3 takes the complement of what opposes C, a last place more."""
    state = State(1, 32)
    state.v[0, 5], state.v[0, 6] = 0xBC00, 0x3C00
    fields = {"VDST": 9, "SRC0": 261, "SRC1": 262, "SRC2": 242, "OP_SEL_HI": 3, "OP_SEL_HI2": 1}
    found = rdna_machine.run(target, encode(target, "v_dot2_f32_f16", "VOP3P", **fields), state).v[0, 9]
    assert (found.view(np.float32) == expected).all()


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize(("name", "two"), [("v_dot2_f16_f16", 0x4000), ("v_dot2_bf16_bf16", 0x4000)])
def test_constants_of_dot_products_are_in_both_halves(target: str, name: str, two: int) -> None:
    """Of the first two sources (RDNA3 ISA document, "Inline constants with DOT2_F16_F16 and DOT2_BF16_BF16")."""
    state = State(1, 32)
    state.v[0, 5] = two * 0x10001
    for sources in ({"SRC0": 242, "SRC1": 261}, {"SRC0": 261, "SRC1": 242}):
        found = rdna_machine.run(target, encode(target, name, "VOP3", VDST=9, SRC2=128, **sources), state).v[0, 9]
        assert (found & 0xFFFF == {"f": 0x4400, "b": 0x4080}[name[7]]).all()


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": lambda x: 2**x,
    "log": math.log2,
    "rcp": lambda x: 1 / x,
    "rsq": lambda x: 1 / math.sqrt(x),
    "sqrt": math.sqrt,
}


SCALAR_LIMITS = {
    "exp": {0.0: 1.0, math.inf: math.inf, -math.inf: 0.0},
    "log": {0.0: -math.inf, 1.0: 0.0, math.inf: math.inf},
    "rcp": {0.0: math.inf, math.inf: 0.0, -math.inf: -0.0},
    "rsq": {0.0: math.inf, math.inf: 0.0},
    "sqrt": {0.0: 0.0, math.inf: math.inf},
}


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_scalar_functions_and_their_modifiers(function: str, kind: str) -> None:
    """Compilers negate and limit there. OMOD is 1 to double, 2 to quadruple and 3 to halve."""
    dtype, state = np.dtype({"f16": "f2", "f32": "f4"}[kind]), State(1, 32)
    code = functools.partial(encode, "gfx1201", f"v_s_{function}_{kind}", "VOP3", VDST=9, SRC0=5)

    def found(value: float, **modifiers: int) -> float:
        state.s[0, 5] = 0xABCD0000 if kind == "f16" else 0
        state.s[0, 5] |= int(np.array(value, dtype).view(f"u{dtype.itemsize}"))
        after = rdna_machine.run("gfx1201", code(**modifiers), state).s[0, 9:10]
        assert kind == "f32" or after[0] < 0x10000
        return float(after.view(dtype)[0])

    for value in (0.375, 2.5, 11.0):
        exact = FUNCTIONS[function](value)
        for given, modifiers in ((value, {}), (-value, {"NEG": 1}), (-value, {"ABS": 1}), (value, {"ABS": 1})):
            assert found(given, **modifiers) == pytest.approx(exact, rel=1e-3 if kind == "f16" else 2e-7)
        for output, factor in ((1, 2), (2, 4), (3, 0.5)):
            assert found(value, OMOD=output) == found(value) * factor
        assert found(value, CLAMP=1) == min(max(found(value), 0), 1)
        assert found(value, OMOD=3, CLAMP=1) == min(max(found(value, OMOD=3), 0), 1)
    if function in ("log", "sqrt", "rsq"):
        assert np.isnan(found(2.5, NEG=1, ABS=1))
        assert found(2.5, NEG=1, ABS=1, CLAMP=1) == 0
    for value, limit in SCALAR_LIMITS[function].items():
        assert struct.pack("d", found(value)) == struct.pack("d", limit), value


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_scalar_functions_are_those_of_vectors(function: str, kind: str) -> None:
    """Rounded to nearest whatever MODE says, with its denormals of f16, FP16_OVFL, and modifiers of the result."""
    width = int(kind[1:])
    rng = np.random.default_rng(width)
    edges = [0, 1, 0x3FF, 0x400, 0x3C00, 0x4308, 0x7BFF, 0x7C00, 0x7E01] if width == 16 else []
    edges += [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00001] if width == 32 else []
    for mode in (0xF0, 0xFF, 0xF5, 0xFA, 0x00, 0x70, 0xB0, 0x8000F0):
        values = [*edges, *(edge | 1 << width - 1 for edge in edges), *rng.integers(0, 1 << width, 32 - 2 * len(edges))]
        for modifiers in ({}, {"OMOD": 1}, {"OMOD": 3}, {"CLAMP": 1}, {"OMOD": 2, "CLAMP": 1, "NEG": 1}, {"ABS": 1}):
            state = State(32, 32)
            state.mode[:] = mode
            state.s[:, 5], state.v[:, 5] = values, np.array(values)[:, None]
            scalar = encode("gfx1201", f"v_s_{function}_{kind}", "VOP3", VDST=9, SRC0=5, **modifiers)
            vector = encode("gfx1201", f"v_{function}_{kind}_e64", "VOP3", VDST=9, SRC0=VECTOR + 5, **modifiers)
            after = rdna_machine.run("gfx1201", [*scalar, *vector], state)
            of_scalars, of_vectors = after.s[:, 9], after.v[:, 9, 0] & np.uint32((1 << width) - 1)
            top = {16: 0x7C00, 32: 0x7F800000}[width]
            are_nans = [(found & (1 << width - 1) - 1) > top for found in (of_scalars, of_vectors)]
            same = (of_scalars == of_vectors) | (are_nans[0] & are_nans[1])
            assert same.all(), (hex(mode), modifiers, [hex(v) for v in np.array(values)[~same]])


ATOMICS = r"""
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
typedef short s2 __attribute__((ext_vector_type(2)));
extern "C" __global__ void halves(h2* sums, h2* before) {
  __shared__ h2 kept[4];
  const int i = threadIdx.x;
  if (i < 4) kept[i] = h2{0, 0};
  __syncthreads();
  typedef __attribute__((address_space(1))) h2* Global;
  typedef __attribute__((address_space(3))) h2* Local;
  const h2 old = __builtin_amdgcn_global_atomic_fadd_v2f16((Global)(sums + i % 4), h2{1, (_Float16)i});
  __builtin_amdgcn_ds_atomic_fadd_v2f16((Local)(kept + i % 4), h2{2, (_Float16)-i});
  __syncthreads();
  before[i] = i < 4 ? kept[i] : old;
}
extern "C" __global__ void brains(s2* sums) {
  typedef __attribute__((address_space(1))) s2* Global;
  __builtin_amdgcn_global_atomic_fadd_v2bf16((Global)(sums + threadIdx.x % 4), s2{0x3f80, 0x4000});
}
"""


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("lanes", [32, 64])
def test_packed_atomics(lanes: int) -> None:
    options = ["-mwavefrontsize64"] if lanes == 64 else []
    signatures = {"halves": "*f16, *f16", "brains": "*bf16"}
    kernels = wave_runtime.compile(ATOMICS, target="gfx1201", language="hip", options=options, signature=signatures)
    sums, before = torch.zeros(4, 2).half(), torch.zeros(64, 2).half()
    kernels["halves"](sums, before, grid=1, block=64)
    lane = torch.arange(64).view(16, 4).sum(0)
    assert torch.equal(sums, torch.stack([torch.full((4,), 16), lane], 1).half())
    assert torch.equal(before[:4], torch.stack([torch.full((4,), 32), -lane], 1).half())
    brains = torch.zeros(4, 2, dtype=torch.bfloat16)
    kernels["brains"](brains, grid=1, block=64)
    assert torch.equal(brains, torch.tensor([[16.0, 32.0]]).expand(4, 2).bfloat16())


# What RDNA has as gfx942 has it, which other tests hold against a model: dwords of the result and of the sources.
AS_ON_GFX942 = {
    "v_cvt_off_f32_i4_e64": (1, (1,)),
    "v_sat_pk_u8_i16_e64": (1, (1,)),
    "v_cvt_norm_i16_f16_e64": (1, (1,)),
    "v_cvt_norm_u16_f16_e64": (1, (1,)),
    "v_trig_preop_f64": (2, (2, 1)),
    "v_qsad_pk_u16_u8": (2, (2, 1, 2)),
    "v_mqsad_pk_u16_u8": (2, (2, 1, 2)),
    "v_mqsad_u32_u8": (4, (2, 1, 4)),
}


@pytest.mark.parametrize(("target", "name"), list(itertools.product(TARGETS, AS_ON_GFX942)))
def test_arithmetic_as_on_gfx942(target: str, name: str) -> None:
    count, sources = AS_ON_GFX942[name]
    rng = np.random.default_rng(5)
    state, other = random_state(rng, 2, 64), machine.State(2)
    other.v[:], other.exec[:] = state.v, state.exec
    fields = {"VDST": 40} | {f"SRC{i}": VECTOR + 4 * i for i in range(len(sources))}
    row = next(row for row in machine.ROWS if row["mnemonic"] == name)
    wanted = machine.run(machine.encode(row, **fields), other).v[:, 40 : 40 + count]
    found = rdna_machine.run(target, encode(target, name, "VOP3", **fields), state).v[:, 40 : 40 + count]
    if "16_f16" in name or "sat_pk" in name:  # gfx942 clears the upper half, which RDNA keeps
        kept = state.v[:, 40:41] & np.uint32(0xFFFF0000)
        wanted = np.where(enabled(state)[:, None], wanted & 0xFFFF | kept, wanted)
    assert np.array_equal(found, wanted)


LDS = {
    "ds_mskor_rtn_b32": "ds_mskor_rtn_b32",
    "ds_mskor_b64": "ds_mskor_b64",
    "ds_condxchg32_rtn_b64": "ds_condxchg32_rtn_b64",
    "ds_storexchg_2addr_rtn_b32": "ds_wrxchg2_rtn_b32",
    "ds_storexchg_2addr_rtn_b64": "ds_wrxchg2_rtn_b64",
    "ds_wrap_rtn_b32": "ds_wrap_rtn_b32",
}


def name_on(target: str, new: str, old: str) -> str:
    """GFX10 has the names of gfx942."""
    return old if target == "gfx1030" else new


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (target, new)
        for target, (new, old) in itertools.product(TARGETS, LDS.items())
        if name_on(target, new, old) in rdna_machine.rows(target)
    ],
)
def test_lds_as_on_gfx942(target: str, name: str) -> None:
    """Each lane has 16 bytes, which are filled, changed and read."""
    state, other = State(1, 64), machine.State(1)
    state.v[:] = np.random.default_rng(6).integers(0, 1 << 32, state.v.shape, dtype=np.uint32)
    state.v[0, 2] = 16 * np.arange(64)
    other.v[:] = state.v
    offsets = {"OFFSET0": 0, "OFFSET1": 1} if "xchg_2addr" in name else {}
    steps = [
        ("ds_store_b128", "ds_write_b128", {"ADDR": 2, "DATA0": 4}),
        (name, LDS[name], {"ADDR": 2, "DATA0": 8, "DATA1": 12, "VDST": 20, **offsets}),
        ("ds_load_b128", "ds_read_b128", {"ADDR": 2, "VDST": 24}),
    ]
    theirs, ours = [], []
    for new, old, fields in steps:
        row = next(row for row in machine.ROWS if row["mnemonic"] == old)
        new = name_on(target, new, old)
        used = {operand["field"] for operand in rdna_machine.rows(target)[new]["operands"]} | set(offsets)
        taken = {field: value for field, value in fields.items() if field in used}
        ours += encode(target, new, "DS", **taken)
        theirs += machine.encode(row, **taken)
    wanted, found = machine.run(theirs, other).v[:, 20:28], rdna_machine.run(target, ours, state, lds=1024).v[:, 20:28]
    assert np.array_equal(found, wanted)


ZERO_WINS = [
    (target, name)
    for target in TARGETS
    for name in ("v_fma_legacy_f32", "v_fma_dx9_zero_f32", "v_fmac_legacy_f32_e64", "v_fmac_dx9_zero_f32_e64")
    if name in rdna_machine.rows(target)
]


@pytest.mark.parametrize(("target", "name"), ZERO_WINS)
def test_multiply_adds_in_which_zero_wins(target: str, name: str) -> None:
    """Zero times infinity or NaN is zero; all else is fused."""
    state = random_state(np.random.default_rng(7), 1, 32)
    values = np.array([0, -0.0, 1.5, 1 + 2**-23, np.inf, np.nan, -3, 2**-20], dtype=np.float32)
    a, b, c = np.repeat(values, 8)[:32], np.tile(values, 8)[:32], np.tile(values[[0, 2, 7, 1]], 8)
    for i, array in enumerate((a, b, c)):
        state.v[0, 5 + i] = array.view(np.uint32)
    is_accumulated = "fmac" in name
    fields = {"SRC0": VECTOR + 5, "SRC1": VECTOR + 6} | (
        {"VDST": 7} if is_accumulated else {"VDST": 9, "SRC2": VECTOR + 7}
    )
    found = rdna_machine.run(target, encode(target, name, "VOP3", **fields), state).v[0, fields["VDST"]]
    with np.errstate(invalid="ignore"):
        exact = a.astype(np.float64) * b.astype(np.float64)
    wanted = (np.where((a == 0) | (b == 0), 0.0, exact) + c.astype(np.float64)).astype(np.float32)
    assert same(found, wanted)


@pytest.mark.parametrize(("target", "lanes"), list(itertools.product(TARGETS, (32, 64))))
@pytest.mark.parametrize(("name", "sign"), [("ds_append", 1), ("ds_consume", -1)])
def test_lanes_are_counted_in_lds(target: str, lanes: int, name: str, sign: int) -> None:
    """At M0 and an offset; enabled lanes get what was there."""
    state = random_state(np.random.default_rng(8), 3, lanes)
    state.m0[:] = [0x10000, 40, 400]
    state.v[:, 2], state.v[:, 3] = (state.m0 & 0xFFFF)[:, None] + 8, 1000
    write, read = name_on(target, "ds_store_b32", "ds_write_b32"), name_on(target, "ds_load_b32", "ds_read_b32")
    words = encode(target, write, "DS", ADDR=2, DATA0=3) + encode(target, name, "DS", VDST=4, OFFSET=8)
    after = rdna_machine.run(target, words + encode(target, read, "DS", ADDR=2, VDST=5), state, lds=1024)
    active = enabled(state)
    assert np.array_equal(after.v[:, 4], np.where(active, 1000, state.v[:, 4]))
    assert np.array_equal(after.v[:, 5], np.where(active, 1000 + sign * active.sum(1)[:, None], state.v[:, 5]))


@pytest.mark.parametrize(("target", "lanes"), list(itertools.product(TARGETS, (32, 64))))
def test_addresses_of_lanes(target: str, lanes: int) -> None:
    """ADDTID: a dword for each lane, from M0 and the offset on."""
    state = random_state(np.random.default_rng(9), 2, lanes)
    state.m0[:], state.exec[:, : lanes // 32] = [0x70000, 128], 0xFFFFFFFF
    write, read = (
        name_on(target, "ds_store_addtid_b32", "ds_write_addtid_b32"),
        name_on(target, "ds_load_b32", "ds_read_b32"),
    )
    again = name_on(target, "ds_load_addtid_b32", "ds_read_addtid_b32")
    state.v[:, 2] = (state.m0 & 0xFFFF)[:, None] + 64 + 4 * np.arange(lanes, dtype=np.uint32)
    words = encode(target, write, "DS", DATA0=3, OFFSET=64) + encode(target, read, "DS", ADDR=2, VDST=4)
    after = rdna_machine.run(target, words + encode(target, again, "DS", VDST=5, OFFSET=64), state, lds=1024)
    assert np.array_equal(after.v[:, 4], state.v[:, 3])
    assert np.array_equal(after.v[:, 5], state.v[:, 3])


SCALAR_BUFFERS = [
    (target, name)
    for target in TARGETS
    for name in rdna_machine.rows(target)
    if re.fullmatch(r"s_buffer_load_(b\d+|dword(x\d+)?)", name) and name in _C.implemented_instructions(target)
]


@pytest.mark.parametrize(("target", "name"), SCALAR_BUFFERS)
@pytest.mark.parametrize(("stride", "records"), [(0, 4096), (16, 256), (0, 40), (8, 5)])
def test_scalar_loads_of_buffers(target: str, name: str, stride: int, records: int) -> None:
    """An offset in a register and one in the instruction; what is out of range reads as zero."""
    memory = torch.randint(-(2**31), 2**31, (1024,), dtype=torch.int32)
    state = random_state(np.random.default_rng(10), 1, 32)
    base = memory.data_ptr()
    state.s[0, 8:13] = [base & 0xFFFFFFFF, base >> 32 | stride << 16, records, 7 << 12, 20]
    fields = {"SBASE": 4, "SDATA": 16, "OFFSET": 4, "SOFFSET": 12}
    count = rdna_machine.rows(target)[name]["operands"][0]["dwords"]
    found = rdna_machine.run(target, encode(target, name, "SMEM", **fields), state, buffer=memory.view(torch.uint8)).s[
        0, 16 : 16 + count
    ]
    place, size = np.arange(24, 24 + 4 * count, 4), (stride or 1) * records
    wanted = np.where(place < size, memory.numpy().view(np.uint32)[place // 4], 0)
    assert np.array_equal(found, wanted)


SWAPS = [
    (target, name)
    for target in TARGETS
    for name in rdna_machine.rows(target)
    if re.fullmatch(r"(global|flat)_atomic_(fcmpswap(_x2)?|cmpswap_f32)", name)
]


@pytest.mark.parametrize(("target", "name"), SWAPS)
def test_floats_are_compared_as_numbers(target: str, name: str) -> None:
    """Zeros of both signs are equal, and no NaN is: the value is stored where they are, and the old one comes back."""
    dtype = np.float64 if name.endswith("_x2") else np.float32
    old = np.tile(np.array([0.0, -0.0, np.nan, 1.5, 2.5, np.inf], dtype=dtype), 6)[:32]
    expected = np.tile(np.array([-0.0, 0.0, np.nan, 1.5, 2.25, np.inf], dtype=dtype), 6)[:32]
    memory, state, dwords = torch.from_numpy(old.copy()), State(1, 32), dtype().itemsize // 4
    address = memory.data_ptr() + np.arange(32, dtype=np.uint64) * (4 * dwords)
    value = np.arange(100, 132).astype(dtype)
    for first, array in ((2, address), (4, value), (4 + dwords, expected)):
        parts = array.view(np.uint32).reshape(32, -1)
        state.v[0, first : first + parts.shape[1]] = parts.T
    off = {} if name.startswith("flat") else {"SADDR": 125 if target == "gfx1030" else 124}
    fields = {"ADDR": 2, "DATA": 4, "VDST": 10, "GLC": 1, **off}
    words = encode(target, name, name.partition("_")[0].upper(), **fields)
    wait = [0xBF8C0070 if target == "gfx1030" else 0xBF890000]
    after = rdna_machine.run(target, words + wait, state, buffer=memory.view(torch.uint8))
    returned = np.ascontiguousarray(after.v[0, 10 : 10 + dwords].T).view(dtype)[:, 0]
    assert np.array_equal(returned.view(np.uint32), old.view(np.uint32))
    assert np.array_equal(memory.numpy(), np.where(old == expected, value, old), equal_nan=True)


BOUNDED = [
    (target, name)
    for target in TARGETS
    for name in rdna_machine.rows(target)
    if re.fullmatch(r"(global|flat)_atomic_(csub(_u32)?|(sub_clamp|cond_sub)_u32)", name)
]


@pytest.mark.parametrize(("target", "name"), BOUNDED)
def test_subtractions_that_stop_at_zero(target: str, name: str) -> None:
    memory = torch.arange(32, dtype=torch.int32)
    state, old, by = State(1, 32), np.arange(32, dtype=np.int64), np.arange(32) * 7 % 33
    address = memory.data_ptr() + 4 * np.arange(32, dtype=np.uint64)
    state.v[0, 2:4], state.v[0, 4] = address.view(np.uint32).reshape(32, 2).T, by
    off = {} if name.startswith("flat") else {"SADDR": 125 if target == "gfx1030" else 124}
    returns = {"TH": 1} if target == "gfx1201" else {"GLC": 1}
    fields = {"ADDR": 2, "DATA": 4, "VDST": 10, **returns, **off}
    words = encode(target, name, name.partition("_")[0].upper(), **fields)
    after = rdna_machine.run(target, words, state, buffer=memory.view(torch.uint8))
    assert np.array_equal(after.v[0, 10], old)
    below = old if "cond_sub" in name else 0
    assert np.array_equal(memory.numpy(), np.where(old < by, below, old - by))


@pytest.mark.parametrize("operation", ["sub_clamp", "cond_sub"])
@pytest.mark.parametrize("returns", [False, True])
def test_subtractions_in_lds_that_stop_at_zero(operation: str, returns: bool) -> None:
    target, state = "gfx1201", random_state(np.random.default_rng(11), 1, 32)
    old, by = np.arange(32, dtype=np.int64), np.arange(32) * 7 % 33
    state.v[0, 2], state.v[0, 3], state.v[0, 4] = 4 * old, old, by
    name, to = f"ds_{operation}{'_rtn' if returns else ''}_u32", {"VDST": 6} if returns else {}
    words = encode(target, "ds_store_b32", "DS", ADDR=2, DATA0=3) + encode(target, name, "DS", ADDR=2, DATA0=4, **to)
    after = rdna_machine.run(target, words + encode(target, "ds_load_b32", "DS", ADDR=2, VDST=5), state, lds=128)
    assert np.array_equal(after.v[0, 5], np.where(old < by, old if operation == "cond_sub" else 0, old - by))
    assert np.array_equal(after.v[0, 6], old if returns else state.v[0, 6])


@pytest.mark.parametrize(("target", "lanes"), list(itertools.product(TARGETS, (32, 64))))
def test_a_dword_for_each_lane(target: str, lanes: int) -> None:
    """From a scalar address and an offset on."""
    memory, state = torch.arange(1000, 1256, dtype=torch.int32), random_state(np.random.default_rng(12), 2, lanes)
    given = memory.numpy().copy()
    for wave in range(2):
        base = memory.data_ptr() + 512 * wave
        state.s[wave, 8:10] = [base & 0xFFFFFFFF, base >> 32]
    load, store = (
        name_on(target, f"global_{kind}_addtid_b32", f"global_{kind}_dword_addtid") for kind in ("load", "store")
    )
    words = encode(target, load, "GLOBAL", VDST=5, SADDR=8, OFFSET=12)
    words += encode(target, store, "GLOBAL", DATA=6, SADDR=8, OFFSET=12)
    after = rdna_machine.run(target, words, state, buffer=memory.view(torch.uint8))
    for wave in range(2):
        active, at = enabled(state)[wave], 128 * wave + 3 + np.arange(lanes)
        assert np.array_equal(after.v[wave, 5], np.where(active, given[at], state.v[wave, 5]))
        stored = memory.numpy().view(np.uint32)[at]
        assert np.array_equal(stored, np.where(active, state.v[wave, 6], given[at].astype(np.uint32)))
