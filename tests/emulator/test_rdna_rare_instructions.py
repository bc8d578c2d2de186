"""What hand-written kernels of RDNA use, and compilers seldom: registers relative to M0, blocks, hardware registers."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
import rdna_machine
import torch
from rdna_machine import State
from test_rdna_instructions import TARGETS, VECTOR, enabled, encode, random_state

import wave_runtime
from wave_runtime import _C

WAVES = pytest.mark.parametrize(("target", "lanes"), list(itertools.product(TARGETS, (32, 64))))


@WAVES
def test_products_for_lighting(target: str, lanes: int) -> None:
    """v_mullit_f32: the lowest number where the second source is that, or less, or the third is not positive."""
    lowest = np.finfo(np.float32).min
    edges = np.array([lowest, -np.inf, np.nan, np.inf, 0.0, -0.0, 1.5, -2.0], dtype=np.float32)
    state = random_state(np.random.default_rng(1), 3, lanes)
    for register, step in ((5, 1), (6, 8), (7, 3)):
        state.v[:, register] = edges[np.arange(lanes) // step % 8].view(np.uint32)
    words = encode(target, "v_mullit_f32", "VOP3", VDST=9, SRC0=VECTOR + 5, SRC1=VECTOR + 6, SRC2=VECTOR + 7)
    a, b, c = (state.v[:, register].view(np.float32) for register in (5, 6, 7))
    with np.errstate(invalid="ignore", over="ignore"):
        is_low = (b == lowest) | (b == -np.inf) | np.isnan(b) | (c <= 0) | np.isnan(c)
        product = np.where(is_low, lowest, a * b)
    found = rdna_machine.run(target, words, state).v[:, 9]
    same = (found == product.view(np.uint32)) | (np.isnan(found.view(np.float32)) & np.isnan(product))
    assert np.all(same | ~enabled(state))
    assert np.array_equal(found[~enabled(state)], state.v[:, 9][~enabled(state)])


@pytest.mark.parametrize(("name", "bits"), [("v_dot4_i32_iu8", 8), ("v_dot8_i32_iu4", 4)])
@pytest.mark.parametrize("clamp", [0, 1])
@pytest.mark.parametrize("signs", range(4))
@pytest.mark.parametrize(("target", "lanes"), list(itertools.product(("gfx1100", "gfx1201"), (32, 64))))
def test_dot_products_of_integers_with_and_without_signs(
    target: str, lanes: int, signs: int, clamp: int, name: str, bits: int
) -> None:
    """A bit of NEG for each factor says whether its elements have signs; CLAMP limits the sum, which else wraps."""
    state = random_state(np.random.default_rng(3), 8, lanes)
    state.v[0, 5:7] = 0xFFFFFFFF
    state.v[0:4, 7] = [[0x7FFFFFFF], [0x80000000], [0xFFFFFFFF], [0]]
    fields = {"VDST": 9, "SRC0": VECTOR + 5, "SRC1": VECTOR + 6, "SRC2": VECTOR + 7, "NEG": signs, "CLAMP": clamp}
    found = rdna_machine.run(target, encode(target, name, "VOP3P", **fields), state).v[:, 9]

    def element(register: int, place: int, has_sign: int) -> np.ndarray:
        value = (state.v[:, register].astype(np.int64) >> bits * place) & (1 << bits) - 1
        return value - (value >> bits - 1 << bits) * has_sign

    total = state.v[:, 7].view(np.int32).astype(np.int64)
    for place in range(32 // bits):
        total = total + element(5, place, signs & 1) * element(6, place, signs >> 1)
    total = np.clip(total, -(1 << 31), (1 << 31) - 1) if clamp else total
    wanted = np.where(enabled(state), total.astype(np.uint32), state.v[:, 9])
    assert np.array_equal(found, wanted)


@WAVES
def test_registers_that_change_places(target: str, lanes: int) -> None:
    """v_swaprel_b32: bits 0 to 9 of M0 are added to the source's number, bits 16 to 25 to the destination's."""
    state = random_state(np.random.default_rng(2), 3, lanes)
    state.m0[:] = [3 | 10 << 16, 0, 0xFC00FC02]
    after = rdna_machine.run(target, encode(target, "v_swaprel_b32", "VOP1", VDST=20, SRC0=VECTOR + 5), state)
    wanted, active = state.v.copy(), enabled(state)
    for wave, (source, destination) in enumerate(((8, 30), (5, 20), (7, 20))):
        for to, other in ((source, destination), (destination, source)):
            wanted[wave, to] = np.where(active[wave], state.v[wave, other], state.v[wave, to])
    assert np.array_equal(after.v, wanted)


# Whether M0 counts for the source's number and for the destination's, and from which bit on; None where all bits count.
RELATIVE_MOVES = {
    "v_movrels_b32": (True, False, None),
    "v_movreld_b32": (False, True, None),
    "v_movrelsd_b32": (True, True, None),
    "v_movrelsd_2_b32": (True, True, 16),
}


@WAVES
@pytest.mark.parametrize("name", RELATIVE_MOVES)
def test_moves_between_registers_relative_to_m0(target: str, lanes: int, name: str) -> None:
    """M0 as a whole is added, but by v_movrelsd_2_b32 bits 0 to 9 and 16 to 25. All else stays."""
    from_source, from_destination, second = RELATIVE_MOVES[name]
    state = random_state(np.random.default_rng(8), 3, lanes)
    state.m0[:] = [0, 7, 12] if second is None else [0, 7 | 12 << 16, 0xFC03FC3A]
    words = encode(target, f"{name}_e32", "VOP1", VDST=20, SRC0=VECTOR + 5)
    wanted, active = state.v.copy(), enabled(state)
    for wave, m0 in enumerate(state.m0.tolist()):
        source = 5 + (m0 if second is None else m0 & 0x3FF) * from_source
        to = 20 + (m0 if second is None else m0 >> second & 0x3FF) * from_destination
        wanted[wave, to] = np.where(active[wave], state.v[wave, source], state.v[wave, to])
    assert np.array_equal(rdna_machine.run(target, words, state).v, wanted)
    state.m0[:] = 0x3FF if second is None else 0x3FF << 16
    register = {"v_movrels_b32": 5}.get(name, 20) + 0x3FF
    with pytest.raises(wave_runtime.KernelFault, match=f"register {register}, relative to M0"):
        rdna_machine.run(target, words, state)


@WAVES
def test_scalar_registers_relative_to_m0(target: str, lanes: int) -> None:
    state = random_state(np.random.default_rng(3), 2, lanes)
    state.s[:] = np.arange(64) + 100
    state.m0[:] = [3 | 10 << 16, 0xFC00FC02]
    after = rdna_machine.run(target, encode(target, "s_movrelsd_2_b32", "SOP1", SDST=20, SSRC0=5), state)
    assert (after.s[0, 30], after.s[1, 20]) == (108, 107)
    after.s[0, 30], after.s[1, 20] = 130, 120
    assert np.array_equal(after.s, state.s)
    state.m0[:] = 1000
    with pytest.raises(wave_runtime.KernelFault, match="scalar register 1005, relative to M0"):
        rdna_machine.run(target, encode(target, "s_movrelsd_2_b32", "SOP1", SDST=20, SSRC0=5), state)


@pytest.mark.parametrize("target", TARGETS)
def test_the_upper_half_of_exec(target: str) -> None:
    """In waves of 32 lanes EXEC_HI enables nothing, and keeps what is written there."""
    exec_lo, exec_hi, minus_one = 126, 127, 193
    state = State(1, 32)
    state.s[0, :8] = 0x00FF00FF, 0x12345678, *range(6)
    words = [
        *encode(target, "s_mov_b64", "SOP1", SDST=exec_lo, SSRC0=0),  # both registers
        *encode(target, "s_mov_b32", "SOP1", SDST=2, SSRC0=exec_hi),
        *encode(target, "v_mov_b32_e32", "VOP1", VDST=5, SRC0=minus_one),
        *encode(target, "s_or_saveexec_b64", "SOP1", SDST=4, SSRC0=minus_one),
        *encode(target, "s_mov_b32", "SOP1", SDST=exec_hi, SSRC0=1),
        *encode(target, "s_mov_b32", "SOP1", SDST=3, SSRC0=exec_hi),
        *encode(target, "v_mov_b32_e32", "VOP1", VDST=6, SRC0=minus_one),
        *encode(target, "s_mov_b32", "SOP1", SDST=exec_lo, SSRC0=128),
        *encode(target, "s_mov_b32", "SOP1", SDST=6, SSRC0=252),  # src_execz
    ]
    after = rdna_machine.run(target, words, state)
    assert list(after.s[0, 2:7]) == [0x12345678, 0x12345678, 0x00FF00FF, 0x12345678, 1]
    assert [after.v[0, 5, lane] == 0xFFFFFFFF for lane in range(32)] == [0x00FF00FF >> i & 1 == 1 for i in range(32)]
    assert (after.v[0, 6] == 0xFFFFFFFF).all()


@pytest.mark.parametrize("lanes", [32, 64])
def test_lanes_that_are_disabled_are_read(lanes: int) -> None:
    """ds_bpermute_fi_b32, across all of the wave; only the destination's lane must be enabled."""
    state = random_state(np.random.default_rng(4), 4, lanes)
    words = encode("gfx1201", "ds_bpermute_fi_b32", "DS", VDST=9, ADDR=5, DATA0=7, OFFSET=12)
    source = ((state.v[:, 5].astype(np.uint64) + 12) // 4 % lanes).astype(np.int64)
    source = np.where(state.v[:, 5] > 0xFFFFFFFF - 12, ((state.v[:, 5] + np.uint32(12)) // 4 % lanes), source)
    moved = np.take_along_axis(state.v[:, 7], source.astype(np.int64), 1)
    after = rdna_machine.run("gfx1201", words, state)
    assert np.array_equal(after.v[:, 9], np.where(enabled(state), moved, state.v[:, 9]))


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("mask", [0, 1, 0x80000001, 0xFFFFFFFF, 0x00F0A050])
def test_blocks_of_registers(lanes: int, mask: int) -> None:
    """A bit of M0 for each of 32 registers; places of the others in memory are passed over."""
    state = random_state(np.random.default_rng(mask), 2, lanes)
    memory = torch.randint(0, 256, (2 * lanes * 128,), dtype=torch.uint8)
    addresses = memory.data_ptr() + np.arange(2 * lanes, dtype=np.uint64).reshape(2, lanes) * 128
    state.v[:, 2], state.v[:, 3] = addresses & 0xFFFFFFFF, addresses >> 32
    state.m0[:] = mask
    dwords, active = memory.numpy().view(np.uint32).reshape(2, lanes, 32).copy(), enabled(state)
    null = 124
    load = encode("gfx1201", "global_load_block", "GLOBAL", VDST=20, ADDR=2, SADDR=null)
    wanted = state.v.copy()
    for k in (k for k in range(32) if mask >> k & 1):
        wanted[:, 20 + k] = np.where(active, dwords[:, :, k], state.v[:, 20 + k])
    assert np.array_equal(rdna_machine.run("gfx1201", load, state, memory).v, wanted)
    store = encode("gfx1201", "global_store_block", "GLOBAL", DATA=20, ADDR=2, SADDR=null)
    rdna_machine.run("gfx1201", store, state, memory)
    for k in (k for k in range(32) if mask >> k & 1):
        dwords[:, :, k] = np.where(active, state.v[:, 20 + k], dwords[:, :, k])
    assert np.array_equal(memory.numpy().view(np.uint32).reshape(2, lanes, 32), dwords)


def transposing(state: State, memory: torch.Tensor, stride: int, bits: int = 128) -> list[int]:
    """Each lane loads eight halves, or bytes, so many bytes behind those of the lane before it."""
    addresses = memory.data_ptr() + np.arange(32, dtype=np.uint64) * stride
    state.v[:, 2], state.v[:, 3] = addresses & 0xFFFFFFFF, addresses >> 32
    return encode("gfx1201", f"global_load_tr_b{bits}", "GLOBAL", VDST=20, ADDR=2, SADDR=124)


@pytest.mark.parametrize("stride", [16, 64])
def test_loads_that_transpose(stride: int) -> None:
    """Lane l of eight has half l of each of them."""
    state, memory = State(1, 32), torch.arange(32 * stride // 2, dtype=torch.int16)
    after = rdna_machine.run("gfx1201", transposing(state, memory, stride), state, memory.view(torch.uint8))
    halves = after.v[0, 20:24].T.copy().view(np.uint16).reshape(32, 8)
    wanted = [[(lane // 8 * 8 + k) * stride // 2 + lane % 8 for k in range(8)] for lane in range(32)]
    assert halves.tolist() == wanted
    assert not after.v[0, 4:20].any()
    assert not after.v[0, 24:].any()


def test_loads_that_transpose_bytes() -> None:
    """A 16x16 matrix of rows of 16 bytes, of which each lane loads half a row, becomes the factor of a product: a lane
    has a column, of the rows 0 to 7 or, from lane 16 on, 8 to 15."""
    state, matrix = State(1, 32), torch.arange(256, dtype=torch.int16).to(torch.uint8).reshape(16, 16)
    words, lanes = transposing(state, matrix, 0, 64), np.arange(32, dtype=np.uint64)
    rows, halves = lanes // 8 * 4 + lanes % 4, lanes // 4 % 2
    state.v[:, 2] += (16 * rows + 8 * halves).astype(np.uint32)
    after = rdna_machine.run("gfx1201", words, state, matrix.view(-1))
    bytes_ = after.v[0, 20:22].T.copy().view(np.uint8).reshape(32, 8)
    wanted = [matrix[8 * (lane // 16) : 8 * (lane // 16) + 8, lane % 16].tolist() for lane in range(32)]
    assert bytes_.tolist() == wanted
    assert not after.v[0, 4:20].any()
    assert not after.v[0, 22:].any()


@pytest.mark.parametrize("bits", [64, 128])
def test_loads_that_transpose_need_all_lanes(bits: int) -> None:
    state, memory = State(1, 32), torch.zeros(512, dtype=torch.uint8)
    state.exec[0, 0] = 0xFFFF
    with pytest.raises(wave_runtime.KernelFault, match="EXEC must be all ones where a matrix is transposed"):
        rdna_machine.run("gfx1201", transposing(state, memory, 16, bits), state, memory)


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize(
    "name",
    [
        "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data", "s_prefetch_data_pc_rel",
        "s_buffer_prefetch_data",
    ],
)  # fmt: skip
def test_prefetches_do_nothing(name: str, lanes: int) -> None:
    """Of addresses that nobody may access, too: on a GPU they give no fault."""
    state = random_state(np.random.default_rng(6), 2, lanes)
    words = encode("gfx1201", name, "SMEM", SBASE=4, SDATA=7, OFFSET=0x7FFFF0, SOFFSET=12)
    after = rdna_machine.run("gfx1201", words, state)
    assert all(np.array_equal(getattr(after, each), getattr(state, each)) for each in rdna_machine.NAMES)


def test_registers_that_a_wave_asks_for() -> None:
    """s_alloc_vgpr, which waves ignore that were not launched for it: HSA's never are."""
    state = random_state(np.random.default_rng(7), 2, 32)
    after = rdna_machine.run("gfx1201", encode("gfx1201", "s_alloc_vgpr", "SOP1", SSRC0=192), state)
    assert all(np.array_equal(getattr(after, each), getattr(state, each)) for each in rdna_machine.NAMES)


def hardware_register(number: int, low: int, size: int) -> int:
    return number | low << 6 | size - 1 << 11


@WAVES
def test_fields_of_mode(target: str, lanes: int) -> None:
    """As llvm.get.fpenv and llvm.set.fpenv read and write them: bits 0 to 22 at once."""
    state = State(1, lanes)
    read = encode(target, "s_getreg_b32", "SOPK", SDST=20, SIMM16=hardware_register(1, 0, 23))
    assert rdna_machine.run(target, read, state).s[0, 20] & 0xFF == rdna_machine.DEFAULT_MODE
    state.s[0, 21] = 0x35
    write = encode(target, "s_setreg_b32", "SOPK", SDST=21, SIMM16=hardware_register(1, 0, 23))
    after = rdna_machine.run(target, write, state)
    assert after.mode[0] & 0xFF == 0x35
    part = encode(target, "s_getreg_b32", "SOPK", SDST=20, SIMM16=hardware_register(1, 4, 4))
    assert rdna_machine.run(target, [*write, *part], state).s[0, 20] == 3


@WAVES
@pytest.mark.parametrize(("name", "low"), [("s_round_mode", 0), ("s_denorm_mode", 4)])
def test_four_bits_of_mode(target: str, lanes: int, name: str, low: int) -> None:
    """They are written, of the instruction's constant; all others stay."""
    for before, bits in itertools.product((0x00, 0xF0, 0x5A, 0xFF), (0x0, 0x6, 0x9, 0xF)):
        state = State(1, lanes)
        state.mode[:] = before
        after = rdna_machine.run(target, encode(target, name, "SOPP", SIMM16=0xABC0 | bits), state)
        assert after.mode[0] & 0xFF == before & ~(15 << low) | bits << low


@pytest.mark.parametrize("target", TARGETS)
def test_messages(target: str) -> None:
    """An interrupt, registers that are given back on RDNA3 and later, and what nobody takes."""
    known = (1, 3) if target != "gfx1030" else (1,)
    names = {9: "MSG_GS_ALLOC_REQ"} | ({6: "MSG_HALT_WAVES"} if target in ("gfx1030", "gfx1100") else {})
    for message in (*range(8), 9):
        words = encode(target, "s_sendmsg", "SOPP", SIMM16=message)
        if message in known:
            rdna_machine.run(target, words, State(1, 32))
            continue
        with pytest.raises(wave_runtime.KernelFault, match=r"sendmsg\(.*\), which nobody takes here") as caught:
            rdna_machine.run(target, words, State(1, 32))
        assert f"sendmsg({names.get(message, '')}" in str(caught.value)


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "gfx1030"])
def test_questions(target: str) -> None:
    """The time is told; others are refused by name."""
    names = ("GET_DOORBELL", "GET_DDID", "GET_TMA", "GET_REALTIME", "SAVE_WAVE", "GET_TBA", "GET_TBA_TO_PC")
    for number, name in enumerate(names, 0x80):
        for question in ("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64"):
            words = encode(target, question, "SOP1", SDST=20, SSRC0=number)
            if name == "GET_REALTIME":
                assert rdna_machine.run(target, words, State(1, 32)).s[0, 20] != 0
                continue
            with pytest.raises(
                wave_runtime.KernelFault, match=rf"sendmsg\(MSG_RTN_{name}\), which nobody answers here"
            ):
                rdna_machine.run(target, words, State(1, 32))


@pytest.mark.parametrize(
    ("name", "format_", "fields"),
    [
        ("v_mov_b32_e32", "VOP1", {}),
        ("v_add_f32_e32", "VOP2", {"VSRC1": 1}),
        ("v_cmp_lt_f32_e32", "VOPC", {"VSRC1": 1}),
        ("v_add_f32_e64", "VOP3", {"SRC1": VECTOR + 1}),
        ("v_pk_add_f16", "VOP3P", {"SRC1": VECTOR + 1}),
    ],
)
def test_values_of_lds_as_operands(name: str, format_: str, fields: dict[str, int]) -> None:
    """Which no compiler makes: they are refused, and do not read as zero."""
    words = encode("gfx1030", name, format_, SRC0=254, **fields)
    with pytest.raises(wave_runtime.KernelFault, match=f"{name} is not implemented: src_lds_direct"):
        rdna_machine.run("gfx1030", words, State(1, 32))


# Shader engines, and pairs of compute units of each.
ENGINES = {"gfx1030": (4, 10), "gfx1100": (6, 8), "gfx1150": (1, 8), "gfx1201": (4, 8)}


@pytest.mark.parametrize("target", TARGETS)
def test_other_hardware_registers(target: str) -> None:
    """Exceptions, of which there are none; where a wave runs; and what is not known by name."""
    state = State(40, 32)
    state.s[:, 20:22] = 0xFFFFFFFF
    flags = encode(target, "s_getreg_b32", "SOPK", SDST=20, SIMM16=hardware_register(3, 0, 5))
    clear = encode(target, "s_setreg_b32", "SOPK", SDST=21, SIMM16=hardware_register(3, 0, 5))
    assert not rdna_machine.run(target, [*clear, *flags], state).s[:, 20].any()
    place = encode(target, "s_getreg_b32", "SOPK", SDST=20, SIMM16=hardware_register(23, 0, 32))
    # Workgroups go round the engines (bits 18 to 20), and those of one round its units, which are pairs (10 to 13).
    engines, pairs = ENGINES[target]
    group = np.arange(40)
    expected = group // engines % (2 * pairs) // 2 << 10 | group % engines << 18
    assert rdna_machine.run(target, place, state).s[:, 20].tolist() == expected.tolist()
    scratch = encode(target, "s_getreg_b32", "SOPK", SDST=20, SIMM16=hardware_register(20, 0, 32))
    with pytest.raises(wave_runtime.KernelFault, match="s_getreg_b32 is not implemented"):
        rdna_machine.run(target, scratch, state)


@pytest.mark.parametrize("saturates", [0, 1])
@pytest.mark.parametrize(
    ("name", "overflowed"), [("v_cvt_pk_fp8_f32", (0x7F7F, 0x7E7E)), ("v_cvt_pk_bf8_f32", (0x7C7C, 0x7B7B))]
)
def test_overflow_to_fp8_saturates_by_mode(name: str, overflowed: tuple[int, int], saturates: int) -> None:
    """Bit 23 of MODE, FP16_OVFL, which compilers set alone in front of conversions to FP8."""
    state = State(1, 32)
    state.s[0, 21] = saturates
    state.v[0, 1] = np.float32(1e9).view(np.uint32)
    write = encode("gfx1201", "s_setreg_b32", "SOPK", SDST=21, SIMM16=hardware_register(1, 23, 1))
    read = encode("gfx1201", "s_getreg_b32", "SOPK", SDST=20, SIMM16=hardware_register(1, 23, 1))
    convert = encode("gfx1201", name, "VOP3", VDST=2, SRC0=257, SRC1=257)
    after = rdna_machine.run("gfx1201", [*write, *read, *convert], state)
    assert after.s[0, 20] == saturates
    assert (after.v[0, 2] & 0xFFFF == overflowed[saturates]).all()


NANS, INFINITIES = (0x7FC00000, 0xFF800001), (0x7F800000, 0xFF800000)


@pytest.mark.parametrize("saturates", [0, 1])
@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_nans_and_infinities_as_fp8(kind: str, saturates: int) -> None:
    """As an RX 9070 XT has them: one NaN whatever its sign was, and infinities that FP16_OVFL does not make finite."""
    state = State(1, 32)
    state.s[0, 21], state.v[0, 5, :4] = saturates, [*NANS, *INFINITIES]
    mode = encode("gfx1201", "s_setreg_b32", "SOPK", SDST=21, SIMM16=hardware_register(1, 23, 1))
    codes = {"fp8": [0xFF, 0xFF, 0x7F, 0xFF], "bf8": [0xFE, 0xFE, 0x7C, 0xFC]}[kind]
    for name in (f"v_cvt_pk_{kind}_f32", f"v_cvt_sr_{kind}_f32"):
        convert = encode("gfx1201", name, "VOP3", VDST=9, SRC0=261, SRC1=261)
        assert (rdna_machine.run("gfx1201", [*mode, *convert], state).v[0, 9, :4] & 255).tolist() == codes
    state.v[0, 5, 0] = 0x7F7F7F7F  # a NaN of either format
    back = encode("gfx1201", f"v_cvt_f32_{kind}_e64", "VOP3", VDST=9, SRC0=261)
    both = encode("gfx1201", f"v_cvt_pk_f32_{kind}_e64", "VOP3", VDST=10, SRC0=261)
    after = rdna_machine.run("gfx1201", [*back, *both], state)
    assert after.v[0, 9:12, 0].tolist() == [0xFFC00000] * 3


def test_all_of_mode() -> None:
    """Of which rounding, denormals and FP16_OVFL are kept, whatever field is written or read."""
    state = State(1, 32)
    state.s[0, 21] = 0xFFFFFFFF
    words = [encode("gfx1201", "s_setreg_b32", "SOPK", SDST=21, SIMM16=hardware_register(1, 0, 32))]
    for number, (low, bits) in enumerate([(0, 32), (8, 1), (12, 9), (20, 4), (24, 4)]):
        read = encode("gfx1201", "s_getreg_b32", "SOPK", SDST=22 + number, SIMM16=hardware_register(1, low, bits))
        words.append(read)
    after = rdna_machine.run("gfx1201", [word for one in words for word in one], state)
    assert after.s[0, 22:27].tolist() == [0x8000FF, 0, 0, 8, 0]


def test_barriers_of_a_single_wave() -> None:
    """It is the first, and the last: none has come then."""
    workgroup, state = 193, State(1, 32)  # the constant -1
    first = encode("gfx1201", "s_barrier_signal_isfirst", "SOP1", SSRC0=workgroup)
    ask = encode("gfx1201", "s_get_barrier_state", "SOP1", SDST=20, SSRC0=workgroup)
    after = rdna_machine.run("gfx1201", [*first, *ask], state)
    assert (after.scc[0], after.s[0, 20]) == (1, 1 | 1 << 4)
    none = encode("gfx1201", "s_barrier_signal_isfirst", "SOP1", SSRC0=128)  # barrier 0
    assert rdna_machine.run("gfx1201", none, state).scc[0] == 0
    named = encode("gfx1201", "s_barrier_signal", "SOP1", SSRC0=130)
    with pytest.raises(wave_runtime.KernelFault, match="a named barrier, which this processor reserves"):
        rdna_machine.run("gfx1201", named, state)


BARRIERS = """
extern "C" __attribute__((global)) void count(int *first, int *states, int rounds) {
  const int wave = __builtin_amdgcn_workitem_id_x() / 32, waves = __builtin_amdgcn_workgroup_size_x() / 32;
  for (int i = 0; i < rounds; ++i) {
    if (__builtin_amdgcn_s_barrier_signal_isfirst(-1) && __builtin_amdgcn_workitem_id_x() % 32 == 0)
      __atomic_fetch_add(&first[i], 1, __ATOMIC_RELAXED);
    states[i * waves + wave] = __builtin_amdgcn_s_get_barrier_state(-1);
    __builtin_amdgcn_s_sleep_var(1);
    __builtin_amdgcn_s_barrier_wait(-1);
  }
}
"""


@pytest.mark.needs("clang-22")
def test_one_wave_is_the_first_of_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", "clang-22")
    kernel = wave_runtime.compile(BARRIERS, target="gfx1201", signature="*i32, *i32, i32")["count"]
    assert "s_sleep_var" in kernel.asm["gfx1201"]
    first, states = torch.zeros(5, dtype=torch.int32), torch.zeros(5, 4, dtype=torch.int32)
    kernel(first, states, 5, grid=1, block=128)
    assert first.tolist() == [1] * 5
    assert (states & 0xFFFF).tolist() == [[1 | 4 << 4] * 4] * 5
    assert all(sorted(row) == [0, 1, 2, 3] for row in (states >> 16).tolist())


EXTREMA_OF_NUMBERS = sorted(
    name
    for name in _C.implemented_instructions("gfx1201")
    if re.fullmatch(r"(ds|global_atomic|flat_atomic|buffer_atomic)_(min|max)_num(_rtn)?_f(32|64)", name)
)


def extremum(old: float, given: float, largest: bool) -> float:
    """IEEE's minimumNumber and maximumNumber."""
    if math.isnan(old) or math.isnan(given):
        return given if math.isnan(old) else old
    return sorted((old, given), key=lambda value: (value, math.copysign(1, value)))[largest]


@pytest.mark.parametrize("name", EXTREMA_OF_NUMBERS)
def test_atomics_that_prefer_numbers(name: str) -> None:
    """Of a number and a NaN they leave the number, and -0 is less than +0."""
    kind = np.float64 if name.endswith("64") else np.float32
    values, size, lanes = (0.0, -0.0, 1.5, -math.inf, math.nan), kind().nbytes, range(25)
    pairs = list(itertools.product(values, values))
    expected = np.array([extremum(old, given, "max" in name) for old, given in pairs], dtype=kind)
    state, memory = State(1, 32), torch.zeros(256, dtype=torch.uint8)
    state.exec[0, 0] = (1 << len(pairs)) - 1
    old, given = (
        np.array(one, dtype=kind).view(np.uint32).reshape(-1, size // 4).T for one in zip(*pairs, strict=True)
    )
    state.v[0, 8 : 8 + size // 4, lanes], state.v[0, 10 : 10 + size // 4, lanes] = old.T, given.T
    if name.startswith("ds"):
        state.v[0, 4, lanes] = size * np.arange(len(pairs))
        words = encode("gfx1201", f"ds_store_b{8 * size}", "DS", ADDR=4, DATA0=8)
        words += encode("gfx1201", name, "DS", ADDR=4, DATA0=10)
        words += encode("gfx1201", f"ds_load_b{8 * size}", "DS", ADDR=4, VDST=12)
        after = rdna_machine.run("gfx1201", words, state, lds=256).v[0, 12 : 12 + size // 4, lanes]
        found = np.ascontiguousarray(after).view(kind).ravel()
    else:
        memory.numpy()[: 4 * len(pairs)] = old.ravel().view(np.uint8)
        base = memory.data_ptr()
        state.s[0, 8:12] = [base & 0xFFFFFFFF, base >> 32, 256, 0x30016000]
        state.v[0, 4, lanes] = 4 * np.arange(len(pairs))
        if name.startswith("buffer"):
            words = encode("gfx1201", name, "MUBUF", VADDR=4, VDATA=10, SRSRC=8, SOFFSET=124, OFFEN=1)
        else:
            address = base + 4 * np.arange(len(pairs), dtype=np.uint64)
            state.v[0, 4, lanes], state.v[0, 5, lanes] = address & 0xFFFFFFFF, address >> np.uint64(32)
            format_ = name.split("_")[0].upper()
            words = encode("gfx1201", name, format_, ADDR=4, DATA=10, SADDR=124)
        rdna_machine.run("gfx1201", words, state, memory)
        found = memory.numpy()[: 4 * len(pairs)].view(kind)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(expected)[~np.isnan(expected)])
