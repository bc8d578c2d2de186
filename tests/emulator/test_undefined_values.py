"""The sanitizer's tool for what nobody wrote, by instructions: bits that one value alone tells, and bytes."""

from __future__ import annotations

import numpy as np
import pytest
import rdna_machine
import torch
from machine import encode
from memory_support import BY_NAME, set_pair
from test_rdna_instructions import encode as encode_rdna
from test_uninitialized import CLEAR, UNDEFINED, WAIT, found, stored

import wave_runtime

VCC, M0, EXEC, OFF, ZERO = 106, 124, 126, 127, 128  # scalar codes
ADDRESS = {"ADDR": 8, "SADDR": OFF}


def undefined(*registers: int) -> list[int]:
    return [word for to in registers for word in encode(BY_NAME["v_mov_b32_e32"], VDST=to, SRC0=UNDEFINED)]


def counted(register: int) -> list[int]:
    """The number of its bits is stored, which is no copy of them."""
    words = encode(BY_NAME["v_bcnt_u32_b32"], VDST=22, SRC0=256 + register, SRC1=ZERO)
    return words + encode(BY_NAME["global_store_dword"], DATA=22, ADDR=8, SADDR=OFF)


def branch() -> list[int]:
    """By SCC, which is defined again behind it, as VCC is."""
    words = encode(BY_NAME["s_cbranch_scc0"], SIMM16=1) + encode(BY_NAME["s_nop"], SIMM16=0)
    words += encode(BY_NAME["s_mov_b64"], SDST=VCC, SSRC0=ZERO)
    return words + encode(BY_NAME["s_cmp_eq_u32"], SSRC0=ZERO, SSRC1=ZERO)


@pytest.mark.parametrize("lane", [0, 5, 31, 32, 63])
@pytest.mark.parametrize("name", ["v_cmp_eq_u32_e32", "v_cmp_eq_u64_e32", "v_cmp_ne_i64_e32"])
def test_one_value_makes_a_lane_equal(name: str, lane: int) -> None:
    """Of lanes that are all undefined. Only that value makes it another, in both of its dwords."""
    words = undefined(20, 21) + encode(BY_NAME[name], SRC0=256 + 20, VSRC1=10)
    words += encode(BY_NAME["s_bitcmp1_b32"], SSRC0=VCC + lane // 32, SSRC1=ZERO + lane % 32)
    (finding,) = found(words + branch())
    assert finding.message.startswith("where the wave goes on depends on register s96")


SCALARS = [(name, {"SSRC0": UNDEFINED, "SSRC1": ZERO + 7}) for name in ("s_cmp_eq_u32", "s_cmp_lg_i32", "s_cmp_lg_u64")]
SCALARS += [
    (name, {"SDST": UNDEFINED, "SIMM16": number}) for name, number in (("s_cmpk_eq_i32", 7), ("s_cmpk_lg_i32", 0xFFF9))
]
SCALARS += [(name, {"SDST": UNDEFINED, "SIMM16": 0x7FF7}) for name in ("s_cmpk_eq_u32", "s_cmpk_lg_u32")]


@pytest.mark.parametrize(("name", "operands"), SCALARS, ids=[name for name, _ in SCALARS])
def test_one_value_makes_scalars_equal(name: str, operands: dict[str, int]) -> None:
    (finding,) = found(encode(BY_NAME[name], **operands) + branch())
    assert finding.message.startswith("where the wave goes on depends on register s96")


ADDED_TO = ["v_fmac_f32_e32", "v_fmac_f64_e32", "v_pk_fmac_f16_e32", "v_dot4c_i32_i8_e32", "v_dot2c_i32_i16_e32"]


@pytest.mark.parametrize("name", ADDED_TO)
def test_what_is_added_to(name: str) -> None:
    """A register that an instruction reads and writes."""
    (finding,) = found(undefined(20, 21) + encode(BY_NAME[name], VDST=20, SRC0=256 + 10, VSRC1=12) + stored(256 + 20))
    assert (finding.count, "register s96" in finding.message) == (64, True)


@pytest.mark.parametrize(("register", "count"), [(20, 0), (21, 64)])
def test_exchanged_registers(register: int, count: int) -> None:
    words = CLEAR + undefined(20) + encode(BY_NAME["v_swap_b32"], VDST=21, SRC0=256 + 20)
    assert sum(finding.count for finding in found(words + stored(256 + register))) == count


@pytest.mark.parametrize(("register", "count"), [(20, 0), (21, 64)])
def test_loaded_again(register: int, count: int) -> None:
    """What was loaded, was written by halves since, and is loaded once more."""
    words = undefined(20, 21) + encode(BY_NAME["global_store_dwordx2"], DATA=20, **ADDRESS) + CLEAR
    load = encode(BY_NAME["global_load_dwordx2"], VDST=20, **ADDRESS) + WAIT
    words += load + encode(BY_NAME["global_store_dword"], DATA=10, **ADDRESS) + WAIT + load
    assert sum(finding.count for finding in found(words + stored(256 + register))) == count


@pytest.mark.parametrize("offset", range(8, 24))
def test_bytes_in_two_words_of_what_is_known(offset: int) -> None:
    """Of a lane whose 16 bytes, from 8 on, lie on both sides of a boundary of 64."""
    lane, known = 3, {"OFFSET": 8, **ADDRESS}
    one_lane = encode(BY_NAME["s_mov_b64"], SDST=EXEC, SSRC0=ZERO + (1 << lane))
    byte = encode(BY_NAME["global_store_byte"], DATA=20, OFFSET=offset, **ADDRESS) + WAIT
    loads = encode(BY_NAME["global_load_dwordx4"], VDST=24, **known) + WAIT
    assert found(one_lane + undefined(20) + byte + loads + counted(24 + (offset - 8) // 4))
    words = one_lane + undefined(20, 21, 22, 23) + encode(BY_NAME["global_store_dwordx4"], DATA=20, **known)
    words += encode(BY_NAME["global_store_dwordx4"], DATA=12, **known) + WAIT
    words += encode(BY_NAME["global_load_ubyte"], VDST=24, OFFSET=offset, **ADDRESS) + WAIT
    assert not found(words + counted(24))


@pytest.mark.parametrize("byte", range(4))
@pytest.mark.parametrize("dword", [0, 3])
def test_bytes_of_scratch(dword: int, byte: int) -> None:
    """One is undefined, in each lane."""

    def scratch(name: str, at: int, **data: int) -> list[int]:
        return encode(BY_NAME[name], OFFSET=4 * dword + at, SADDR=OFF, **data)

    words = scratch("scratch_store_dword", 0, DATA=10) + undefined(20)
    words += scratch("scratch_store_byte", byte, DATA=20) + WAIT
    for at in range(4):
        load = scratch("scratch_load_ubyte", at, VDST=20) + WAIT
        assert sum(finding.count for finding in found(words + load + counted(20))) == 64 * (at == byte)


@pytest.mark.parametrize("size", [4, 2, 1])
@pytest.mark.parametrize("space", ["global", "scratch"])
@pytest.mark.parametrize("byte", [*range(4), None])
def test_bytes_loaded_to_lds(byte: int | None, space: str, size: int) -> None:
    """By opcodes of their own. One is undefined, or none; of fewer bytes than four zeros are added."""
    place = ADDRESS if space == "global" else {"SADDR": OFF}
    words = undefined(20) + encode(BY_NAME[f"{space}_store_dword"], DATA=10, **place)
    if byte is not None:
        words += encode(BY_NAME[f"{space}_store_byte"], DATA=20, OFFSET=byte, **place)
    name = {4: "dword", 2: "ushort", 1: "ubyte"}[size]
    words += WAIT + encode(BY_NAME["s_mov_b32"], SDST=M0, SSRC0=ZERO)
    words += encode(BY_NAME[f"{space}_load_lds_{name}"], **place) + WAIT
    words += encode(BY_NAME["ds_read_b32"], VDST=20, ADDR=11) + WAIT
    kind = "global" if space == "global" else "register"
    is_undefined = byte is not None and byte < size
    assert [(one.kind, one.count) for one in found(words + counted(20))] == [(kind, 64)] * is_undefined


@pytest.mark.parametrize("clears", [True, False])
def test_a_lane_that_is_written_though_it_is_not_enabled(clears: bool) -> None:
    """By V_WRITELANE, which looks at no EXEC: what nobody wrote, and what makes a lane a value."""
    words = CLEAR if clears else undefined(20)
    words = words + encode(BY_NAME["s_mov_b64"], SDST=EXEC, SSRC0=ZERO + 1)
    words += encode(BY_NAME["v_writelane_b32"], VDST=20, SRC0=UNDEFINED if clears else ZERO, SRC1=ZERO + 5)
    words += encode(BY_NAME["s_mov_b64"], SDST=EXEC, SSRC0=ZERO + 32) + stored(256 + 20)  # lane 5
    words += encode(BY_NAME["s_mov_b64"], SDST=EXEC, SSRC0=193)
    assert len(found(words)) == clears


@pytest.mark.parametrize("shift", [0, 16])
@pytest.mark.parametrize("name", ["v_add_f16_e32", "global_load_d16_b16", "global_load_d16_hi_u8"])
def test_a_half_that_an_instruction_leaves(name: str, shift: int) -> None:
    """Since GFX11 a result of 16 bits leaves the other half of its register, and so does what is loaded into one."""
    state, memory = rdna_machine.State(1, 32), torch.zeros(4096, dtype=torch.uint8)
    set_pair(state.v.transpose(1, 0, 2)[8:10], memory.data_ptr() + np.arange(32, dtype=np.uint64) * 4)
    words = encode_rdna("gfx1100", "v_mov_b32_e32", "VOP1", VDST=20, SRC0=UNDEFINED)
    if name == "v_add_f16_e32":
        words += encode_rdna("gfx1100", name, "VOP2", VDST=20, SRC0=242, VSRC1=10)
    else:
        words += encode_rdna("gfx1100", name, "GLOBAL", VDST=20, ADDR=8, SADDR=124)
    words += encode_rdna("gfx1100", "v_bfe_u32", "VOP3", VDST=21, SRC0=256 + 20, SRC1=ZERO + shift, SRC2=ZERO + 16)
    words += encode_rdna("gfx1100", "v_add_nc_u32_e32", "VOP2", VDST=21, SRC0=ZERO + 1, VSRC1=21)
    words += encode_rdna("gfx1100", "global_store_b32", "GLOBAL", DATA=21, ADDR=8, SADDR=124)
    words += encode_rdna("gfx1100", "v_mov_b32_e32", "VOP1", VDST=21, SRC0=ZERO)
    with wave_runtime.sanitize("uninitialized") as report:
        rdna_machine.run("gfx1100", words, state, memory)
    assert len(report.findings) == (shift == (0 if "_hi_" in name else 16))
