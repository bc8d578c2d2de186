"""Modes that change what vector instructions do: registers relative to M0 (GPR indexing), and VSKIP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import model
import numpy as np
import pytest
import torch
from machine import DEFAULT_MODE, FIELDS, State, encode, run
from memory_support import BY_NAME, random_state
from support import LoadKernel

import wave_runtime

SOURCES, DESTINATION = (1, 2, 4), 8  # bits of the mask of s_set_gpr_idx_on
GPR_IDX_EN, VSKIP = 1 << 27, 1 << 28
INDEX = 5


def turn_on(operands: int, register: int = 20) -> list[int]:
    """s_set_gpr_idx_on with the index in a scalar register."""
    return encode(BY_NAME["s_set_gpr_idx_on"], SSRC0=register, SSRC1=operands)


OFF = encode(BY_NAME["s_set_gpr_idx_off"])


def moved(row: dict[str, Any], fields: dict[str, int], operands: int, index: int) -> dict[str, int]:
    """The fields of the instruction that names the relative registers itself."""
    result, bits = dict(fields), iter(SOURCES)
    for operand in row["operands"]:
        name, kind = operand["field"], operand["kind"]
        if operand["written"] and name != "VDST":
            continue
        bit = DESTINATION if name == "VDST" else next(bits)
        is_vector = kind in ("Vgpr", "Agpr", "SdwaSource") or (kind == "VectorSource" and fields[name] >= 256)
        if operands & bit and is_vector:
            result[name] += index
    return result


# An instruction with registers that the modes move, and with others that they leave: scalars and constants.
CASES: list[tuple[str, dict[str, int]]] = [
    ("v_mov_b32_e32", {"VDST": 3, "SRC0": 256 + 7}),
    ("v_mov_b32_e32", {"VDST": 3, "SRC0": 9}),
    ("v_mov_b32_sdwa", {"VDST": 3, "SRC0": 7, "DST_SEL": 5, "DST_UNUSED": 0, "SRC0_SEL": 1}),
    ("v_mov_b32_dpp", {"VDST": 3, "SRC0": 7, "DPP_CTRL": 0x140, "ROW_MASK": 15, "BANK_MASK": 15}),
    ("v_sub_u32_e32", {"VDST": 3, "SRC0": 256 + 7, "VSRC1": 8}),
    ("v_sub_u32_e32", {"VDST": 3, "SRC0": 129, "VSRC1": 8}),
    ("v_bfe_u32", {"VDST": 3, "SRC0": 256 + 7, "SRC1": 256 + 8, "SRC2": 256 + 9}),
    ("v_mad_u16", {"VDST": 3, "SRC0": 256 + 7, "SRC1": 256 + 8, "SRC2": 256 + 9, "OP_SEL": 8}),
    ("v_min3_i16", {"VDST": 3, "SRC0": 256 + 7, "SRC1": 256 + 8, "SRC2": 256 + 9}),
    ("v_lshl_add_u64", {"VDST": 4, "SRC0": 256 + 8, "SRC1": 130, "SRC2": 256 + 12}),
    ("v_pk_add_u16", {"VDST": 3, "SRC0": 256 + 7, "SRC1": 256 + 8, "OP_SEL_HI": 3, "OP_SEL_HI2": 1}),
    ("v_cmp_lt_u32_e32", {"SRC0": 256 + 7, "VSRC1": 8}),
    ("v_readlane_b32", {"VDST": 30, "SRC0": 256 + 7, "SRC1": 131}),
    ("v_accvgpr_write_b32", {"VDST": 3, "SRC0": 256 + 7}),
    ("v_accvgpr_read_b32", {"VDST": 3, "SRC0": 256 + 7}),
]


@pytest.mark.parametrize("operands", [0, 1, 2, 4, 8, 9, 15])
@pytest.mark.parametrize(("name", "fields"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_registers_relative_to_m0(name: str, fields: dict[str, int], operands: int) -> None:
    row = BY_NAME[name]
    state = random_state(np.random.default_rng(40))
    state.s[:, 20] = [INDEX, 0xABC00 | INDEX, INDEX]
    actual = run(turn_on(operands) + encode(row, **fields) + OFF, state)
    everything = dict.fromkeys(FIELDS[str(row["format"])], 0) | fields
    destination_is_scalar = name == "v_readlane_b32"
    relative = moved(row, everything, operands & ~DESTINATION if destination_is_scalar else operands, INDEX)
    expected = model.evaluate(row, relative, None, state)
    for file in ("v", "a", "s", "vcc", "scc", "exec"):
        assert np.array_equal(getattr(actual, file), getattr(expected, file)), file
    assert np.array_equal(actual.m0, state.m0 & 0xFFFF0F00 | operands << 12 | INDEX)
    assert (actual.mode == DEFAULT_MODE).all()


def test_the_accumulated_value_is_the_third_source() -> None:
    state = random_state(np.random.default_rng(41))
    state.s[:, 20] = INDEX
    fmac = encode(BY_NAME["v_dot4c_i32_i8_e32"], VDST=3, SRC0=256 + 7, VSRC1=8)
    actual = run(turn_on(DESTINATION | 4) + fmac + OFF, state)
    row = BY_NAME["v_dot4c_i32_i8_e32"]
    expected = model.evaluate(row, {"VDST": 3 + INDEX, "SRC0": 256 + 7, "VSRC1": 8}, None, state)
    assert np.array_equal(actual.v, expected.v)


def test_index_and_mode_change_while_indexing_is_on() -> None:
    state = random_state(np.random.default_rng(42), 1)
    state.s[0, 20:22] = [1, 0x12345602]
    move = encode(BY_NAME["v_mov_b32_e32"], VDST=4, SRC0=256 + 8)
    words = turn_on(1) + move  # v4 = v9
    words += encode(BY_NAME["s_set_gpr_idx_idx"], SSRC0=21) + move  # v4 = v10
    words += encode(BY_NAME["s_set_gpr_idx_mode"], SIMM16=DESTINATION) + move + OFF  # v6 = v8
    actual = run([*words, *encode(BY_NAME["v_mov_b32_e32"], VDST=5, SRC0=256 + 8)], state)
    for register, source in ((4, 10), (5, 8), (6, 8)):
        assert np.array_equal(actual.v[0, register], state.v[0, source]), register
    assert actual.m0[0] == int(state.m0[0]) & 0xFFFF0F00 | DESTINATION << 12 | 2


def test_mode_itself_turns_it_on() -> None:
    """Bit 27 of MODE by s_setreg, and M0 by a move."""
    state = random_state(np.random.default_rng(43), 1)
    state.m0[0] = 1 << 12 | 2
    set_mode = BY_NAME["s_setreg_imm32_b32"]
    words = encode(set_mode, 1, SIMM16=1 | 27 << 6)
    words += encode(BY_NAME["v_mov_b32_e32"], VDST=4, SRC0=256 + 8) + encode(set_mode, 0, SIMM16=1 | 27 << 6)
    assert np.array_equal(run(words, state).v[0, 4], state.v[0, 10])


def test_an_index_beyond_the_registers_is_a_fault() -> None:
    state = State(1)
    state.s[0, 20] = 96
    words = turn_on(1) + encode(BY_NAME["v_mov_b32_e32"], VDST=4, SRC0=256 + 8)
    with pytest.raises(wave_runtime.KernelFault, match="vector register 104, relative to M0, of 104 registers"):
        run(words, state)


def test_memory_instructions_are_not_relative() -> None:
    state = random_state(np.random.default_rng(44), 1)
    state.s[0, 20], state.v[0, 8] = 3, np.arange(64) * 4
    actual = run(turn_on(15) + encode(BY_NAME["ds_read_b32"], ADDR=8, VDST=4) + OFF, state)
    assert np.array_equal(actual.v[0, 4], state.lds[0, :64])


def setvskip(value: int) -> list[int]:
    """VSKIP is a bit of the first operand, which the second chooses."""
    return encode(BY_NAME["s_setvskip"], SSRC0=128 + (value << 3), SSRC1=128 + 3)


SKIPPED = [
    encode(BY_NAME["v_mov_b32_e32"], VDST=4, SRC0=256 + 8),
    encode(BY_NAME["v_cmp_lt_u32_e32"], SRC0=256 + 7, VSRC1=8),
    encode(BY_NAME["v_readfirstlane_b32"], VDST=30, SRC0=256 + 8),
    encode(BY_NAME["v_mfma_f32_4x4x1_16b_f32"], VDST=8, SRC0=256 + 8, SRC1=256 + 9, SRC2=256 + 12),
    encode(BY_NAME["ds_read_b32"], ADDR=8, VDST=4),
    encode(BY_NAME["ds_write_b32"], ADDR=8, DATA0=4),
    encode(BY_NAME["ds_gws_barrier"], ADDR=8, GDS=1),
    encode(BY_NAME["global_load_dword"], ADDR=8, VDST=4, SADDR=127),
    encode(BY_NAME["buffer_store_dword"], VADDR=8, VDATA=4, SRSRC=2, SOFFSET=128, OFFEN=1),
]


def test_vskip() -> None:
    """Vector, memory and LDS instructions do nothing, whatever their operands are; scalar ones go on."""
    state = random_state(np.random.default_rng(45))
    words = [word for instruction in SKIPPED for word in instruction]
    count = encode(BY_NAME["s_movk_i32"], SDST=40, SIMM16=77)
    actual = run(setvskip(1) + words + count, state)
    assert (actual.s[:, 40] == 77).all()
    assert (actual.mode == DEFAULT_MODE | VSKIP).all()
    actual.s[:, 40] = state.s[:, 40]
    for file in ("s", "v", "a", "lds", "vcc", "exec"):
        assert np.array_equal(getattr(actual, file), getattr(state, file)), file


def test_a_trace_names_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of an instruction that is skipped, whose registers need not exist; nor what M0 has moved elsewhere."""
    path = tmp_path / "trace"
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(path))
    state = random_state(np.random.default_rng(47), 1)
    state.s[0, 20], state.s[0, 21] = 3, 3
    moves = [encode(BY_NAME["v_mov_b32_e32"], VDST=to, SRC0=129) for to in (4, 250)]
    m0 = encode(BY_NAME["s_mov_b32"], SDST=124, SSRC0=21)
    words = setvskip(1) + moves[0] + moves[1] + setvskip(0) + turn_on(DESTINATION) + moves[0] + OFF
    words += m0 + encode(BY_NAME["s_movreld_b32"], SDST=30, SSRC0=129) + moves[0]
    run(words, state)
    texts = [line.split("  ", 2)[2] for line in path.read_text().splitlines()]
    assert [text for text in texts if text.startswith(("v_mov_b32_e32 v4,", "v_mov_b32_e32 v250,", "s_movreld"))] == [
        "v_mov_b32_e32 v4, 1",
        "v_mov_b32_e32 v250, 1",
        "v_mov_b32_e32 v4, 1",
        "s_movreld_b32 s30, 1",
        "v_mov_b32_e32 v4, 1  # v4 = 0x00000001 in lane 0",
    ]


def test_vskip_ends() -> None:
    state = random_state(np.random.default_rng(46), 1)
    move = encode(BY_NAME["v_mov_b32_e32"], VDST=4, SRC0=256 + 8)
    actual = run(setvskip(1) + setvskip(0) + move, state)
    assert actual.mode[0] == DEFAULT_MODE
    assert np.array_equal(actual.v[0, 4], state.v[0, 8])


def test_vskip_of_one_wave_of_a_kernel(probe: LoadKernel) -> None:
    """Handwritten kernels let waves without work run through, up to a barrier that counts them."""
    out = torch.full((4,), -1, dtype=torch.int32)
    probe("skip_waves", "*i32, i64, i32, i32")(out, 0, 2, 0, grid=1, block=256)
    assert out.tolist() == [0, 1, -1, -1]
