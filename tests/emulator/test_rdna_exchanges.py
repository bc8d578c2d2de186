"""RDNA exchanges halves of registers, and lanes that registers name; GFX12 has scalar loads of parts of buffers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import rdna_machine
import torch
from rdna_machine import State
from test_rdna_instructions import TARGETS, VECTOR, enabled, encode, random_state

import wave_runtime

UPPER = 128  # of a register in a field of 16 bits' operands


@pytest.mark.parametrize(("target", "lanes"), itertools.product(("gfx1100", "gfx1150", "gfx1201"), (32, 64)))
@pytest.mark.parametrize(
    ("a", "b"), [(5, 9), (5, 9 | UPPER), (5 | UPPER, 9), (5 | UPPER, 9 | UPPER), (5, 5 | UPPER), (5, 5)]
)
def test_halves_are_exchanged(target: str, lanes: int, a: int, b: int) -> None:
    """Of two registers or of one; the other halves and disabled lanes stay."""
    state = random_state(np.random.default_rng(a + b), 3, lanes)
    after = rdna_machine.run(target, encode(target, "v_swap_b16", "VOP1", VDST=a, SRC0=VECTOR + b), state)
    wanted = state.v.copy().view(np.uint16).reshape(3, -1, lanes, 2)
    before, active = wanted.copy(), enabled(state)
    for to, source in ((a, b), (b, a)):
        half, other = (to % UPPER, to // UPPER), (source % UPPER, source // UPPER)
        wanted[:, half[0], :, half[1]] = np.where(
            active, before[:, other[0], :, other[1]], before[:, half[0], :, half[1]]
        )
    assert np.array_equal(after.v.view(np.uint16).reshape(wanted.shape), wanted)


def permuted(state: State, numbers: np.ndarray, row: int, op_sel: int) -> np.ndarray:
    """What register 9 is given of register 5, for each lane the lane of its row, or of the other, that has its number.

    OP_SEL: a disabled lane is read all the same (1), reads as zero (2), else leaves the destination.
    """
    lane, active = np.arange(state.lanes), enabled(state)
    source = (((lane & ~15) ^ row) | (numbers & 15)).astype(np.int64)
    moved = np.take_along_axis(state.v[:, 5], source, 1)
    valid = np.take_along_axis(active, source, 1) | bool(op_sel & 1)
    result = np.where(valid, moved, 0 if op_sel & 2 else state.v[:, 9])
    return np.where(active, result, state.v[:, 9])


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize(("name", "row"), [("v_permlane16_var_b32", 0), ("v_permlanex16_var_b32", 16)])
@pytest.mark.parametrize("op_sel", range(4))
def test_lanes_that_a_vector_register_names(lanes: int, name: str, row: int, op_sel: int) -> None:
    """The number's last four bits count."""
    state = random_state(np.random.default_rng(op_sel), 4, lanes)
    words = encode("gfx1201", name, "VOP3", VDST=9, SRC0=VECTOR + 5, SRC1=VECTOR + 7, OP_SEL=op_sel)
    after = rdna_machine.run("gfx1201", words, state)
    assert np.array_equal(after.v[:, 9], permuted(state, state.v[:, 7], row, op_sel))


@pytest.mark.parametrize(("target", "lanes"), itertools.product(TARGETS, (32, 64)))
@pytest.mark.parametrize(("name", "row"), [("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)])
@pytest.mark.parametrize("op_sel", range(4))
def test_lanes_that_scalar_registers_name(target: str, lanes: int, name: str, row: int, op_sel: int) -> None:
    """Of each row the first eight lanes have their numbers in one register, four bits each, the others in another."""
    rng = np.random.default_rng(op_sel)
    state = random_state(rng, 4, lanes)
    state.s[:, 12:14] = rng.integers(0, 1 << 32, (4, 2), dtype=np.uint32)
    words = encode(target, name, "VOP3", VDST=9, SRC0=VECTOR + 5, SRC1=12, SRC2=13, OP_SEL=op_sel)
    lane = np.arange(lanes)
    numbers = state.s[:, 12 + lane // 8 % 2] >> (4 * (lane % 8)).astype(np.uint32)
    after = rdna_machine.run(target, words, state)
    assert np.array_equal(after.v[:, 9], permuted(state, numbers, row, op_sel))


PARTS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16}


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(("stride", "records"), [(0, 4096), (16, 256), (0, 33), (8, 4), (0, 0)])
def test_scalar_loads_of_parts_of_buffers(kind: str, stride: int, records: int) -> None:
    """From any byte, with its sign or without; what is out of range, in part, too, reads as zero."""
    memory = torch.randint(0, 256, (4096,), dtype=torch.uint8)
    state, type_ = random_state(np.random.default_rng(10), 1, 32), PARTS[kind]
    base, size = memory.data_ptr(), (stride or 1) * records
    state.s[0, 8:11] = [base & 0xFFFFFFFF, base >> 32 | stride << 16, records]
    for offset, register in ((0, 0), (20, 4), (21, 10), (1, 31), (30, 2), (7, 25)):
        state.s[0, 12] = register
        fields = {"SBASE": 4, "SDATA": 16, "OFFSET": offset, "SOFFSET": 12}
        words = encode("gfx1201", f"s_buffer_load_{kind}", "SMEM", **fields)
        found = rdna_machine.run("gfx1201", words, state, buffer=memory).s[0, 16]
        place, length = offset + register, np.dtype(type_).itemsize
        value = memory.numpy()[place : place + length].view(type_)[0] if place + length <= size else 0
        assert found == np.uint32(int(value) & 0xFFFFFFFF), (offset, register)


IR = """
target triple = "amdgcn-amd-amdhsa"
declare i8 @llvm.amdgcn.s.buffer.load.i8(<4 x i32>, i32, i32)
declare i16 @llvm.amdgcn.s.buffer.load.i16(<4 x i32>, i32, i32)
declare i32 @llvm.amdgcn.s.buffer.load.i32(<4 x i32>, i32, i32)
declare <3 x i32> @llvm.amdgcn.s.buffer.load.v3i32(<4 x i32>, i32, i32)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, NUM, i32)
define amdgpu_kernel void @read(ptr addrspace(1) inreg %from, ptr addrspace(1) %to, i32 inreg %at) {
  %pointer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %from, i16 0, NUM 40, i32 0)
  %number = ptrtoint ptr addrspace(8) %pointer to i128
  %buffer = bitcast i128 %number to <4 x i32>
  %a = call i8 @llvm.amdgcn.s.buffer.load.i8(<4 x i32> %buffer, i32 %at, i32 0)
  %b = call i16 @llvm.amdgcn.s.buffer.load.i16(<4 x i32> %buffer, i32 %at, i32 0)
  %c = call i32 @llvm.amdgcn.s.buffer.load.i32(<4 x i32> %buffer, i32 %at, i32 0)
  %d = call <3 x i32> @llvm.amdgcn.s.buffer.load.v3i32(<4 x i32> %buffer, i32 %at, i32 0)
  %signed = sext i8 %a to i32
  %unsigned = zext i16 %b to i32
  %d0 = extractelement <3 x i32> %d, i32 0
  %d1 = extractelement <3 x i32> %d, i32 1
  %two = add i32 %d0, %d1
  %last = extractelement <3 x i32> %d, i32 2
  %d2 = sub i32 %last, %two
  %first = insertelement <4 x i32> poison, i32 %signed, i32 0
  %second = insertelement <4 x i32> %first, i32 %unsigned, i32 1
  %third = insertelement <4 x i32> %second, i32 %c, i32 2
  %all = insertelement <4 x i32> %third, i32 %d2, i32 3
  store <4 x i32> %all, ptr addrspace(1) %to
  ret void
}
"""


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("at", [0, 8, 36, 40])
def test_what_llvm_makes_of_loads_of_buffers(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLANG", "clang-22")
    signature = "*i32 const, *i32, i32"
    source = IR.replace("NUM", "i64")
    kernel = wave_runtime.compile(source, language="llvm", target="gfx1201", signature=signature)["read"]
    assert "s_buffer_load_i8" in kernel.asm["gfx1201"]
    assert "s_buffer_load_b96" in kernel.asm["gfx1201"]
    memory, out = torch.randint(-(2**31), 2**31, (10,), dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    kernel(memory, out, at, grid=1, block=32)
    numbers = [*memory.tolist(), 0, 0, 0]
    word = numbers[at // 4]
    signed = (word + 128) % 256 - 128
    first, second, last = numbers[at // 4 : at // 4 + 3]
    assert out[:3].tolist() == [signed, word % 65536, word]
    assert (int(out[3]) - (last - first - second)) % 2**32 == 0
