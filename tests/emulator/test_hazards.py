"""WAVE_RUNTIME_CHECK=hazards: waits that are missing are found, and those that are there suffice."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
import rdna_machine
import torch
from machine import State, encode, run
from memory_support import BY_NAME, random_state, set_pair
from support import EXAMPLES
from test_rdna_instructions import encode as encode_rdna
from waits import nop, waitcnt, without

import wave_runtime


@pytest.fixture(autouse=True)
def _check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards")


def mov(to: int, register: int) -> list[int]:
    return encode(BY_NAME["v_mov_b32_e32"], VDST=to, SRC0=256 + register)


LOAD = encode(BY_NAME["global_load_dword"], VDST=20, ADDR=8, SADDR=127)
LOAD_NEXT = encode(BY_NAME["global_load_dword"], VDST=21, ADDR=8, SADDR=127)
STORE = encode(BY_NAME["global_store_dword"], DATA=10, ADDR=8, SADDR=127)
FLAT = encode(BY_NAME["flat_load_dword"], VDST=20, ADDR=8)
ATOMIC = encode(BY_NAME["global_atomic_add"], VDST=20, DATA=10, ADDR=8, SADDR=127, SC0=1)
BUFFER = {"VDATA": 20, "VADDR": 11, "OFFEN": 1, "SRSRC": 3, "SOFFSET": 128}
BUFFER_ATOMIC = encode(BY_NAME["buffer_atomic_add"], **BUFFER)
BUFFER_ATOMIC_RETURN = encode(BY_NAME["buffer_atomic_add"], **BUFFER, SC0=1)
READ_LDS = encode(BY_NAME["ds_read_b32"], VDST=20, ADDR=11)
READ_LDS_NEXT = encode(BY_NAME["ds_read_b32"], VDST=21, ADDR=11)
SCALAR_LOAD = encode(BY_NAME["s_load_dwordx2"], SDATA=20, SBASE=4, IMM=1)
SCALAR_USE = encode(BY_NAME["s_mov_b32"], SDST=30, SSRC0=21)
INVALIDATE = encode(BY_NAME["buffer_inv"], SC1=1)

MISSING = "read before its load has been waited for: s_waitcnt "
CLEAN: list[tuple[str, list[int]]] = [
    ("load", LOAD + waitcnt(vm=0) + mov(30, 20)),
    ("first of two", LOAD + LOAD_NEXT + waitcnt(vm=1) + mov(30, 20) + waitcnt(vm=0)),
    ("before a store", LOAD + STORE + waitcnt(vm=1) + mov(30, 20)),
    ("two into one register", LOAD + LOAD + waitcnt(vm=0) + mov(30, 20)),
    ("atomic", ATOMIC + waitcnt(vm=0) + mov(30, 20)),
    ("buffer atomic", BUFFER_ATOMIC_RETURN + waitcnt(vm=0) + mov(30, 20)),
    ("buffer atomic without return", BUFFER_ATOMIC + mov(30, 20) + mov(20, 9)),
    ("flat", FLAT + waitcnt(vm=0, lgkm=0) + mov(30, 20)),
    ("flat in two steps", FLAT + waitcnt(vm=0) + waitcnt(lgkm=0) + mov(30, 20)),
    ("LDS", READ_LDS + READ_LDS_NEXT + waitcnt(lgkm=1) + mov(30, 20) + waitcnt(lgkm=0)),
    ("first of sixteen", READ_LDS + READ_LDS_NEXT * 15 + waitcnt(lgkm=14) + mov(30, 20)),
    ("scalar", SCALAR_LOAD + waitcnt(lgkm=0) + SCALAR_USE),
    ("other registers", LOAD + mov(30, 22) + waitcnt(vm=0)),
]
FAULTY: list[tuple[str, list[int], str]] = [
    ("load", LOAD + mov(30, 20), "v20 is " + MISSING + r"vmcnt\(0\) is missing"),
    ("wrong counter", LOAD + waitcnt(lgkm=0) + mov(30, 20), MISSING + r"vmcnt\(0\)"),
    ("second of two", LOAD + LOAD_NEXT + waitcnt(vm=1) + mov(30, 21), "v21 is " + MISSING + r"vmcnt\(0\)"),
    ("first of two", LOAD + LOAD_NEXT + mov(30, 20) + waitcnt(vm=0), MISSING + r"vmcnt\(1\)"),
    # The largest value of a counter waits for nothing.
    ("first of sixteen", READ_LDS + READ_LDS_NEXT * 15 + mov(30, 20), MISSING + r"lgkmcnt\(14\)"),
    ("first of twenty", READ_LDS + READ_LDS_NEXT * 19 + mov(30, 20), MISSING + r"lgkmcnt\(14\)"),
    ("as an address", LOAD + encode(BY_NAME["ds_read_b32"], VDST=22, ADDR=20), MISSING + r"vmcnt\(0\)"),
    ("as data", LOAD + encode(BY_NAME["global_store_dword"], DATA=20, ADDR=8, SADDR=127), MISSING + r"vmcnt\(0\)"),
    ("atomic", ATOMIC + mov(30, 20), MISSING + r"vmcnt\(0\)"),
    ("buffer atomic", BUFFER_ATOMIC_RETURN + mov(30, 20), MISSING + r"vmcnt\(0\)"),
    ("as data of an atomic", LOAD + BUFFER_ATOMIC, "v20 is " + MISSING + r"vmcnt\(0\)"),
    ("flat, half", FLAT + waitcnt(vm=0) + mov(30, 20), MISSING + r"vmcnt\(0\) lgkmcnt\(0\)"),
    ("scalar", SCALAR_LOAD + SCALAR_USE, "s21 is " + MISSING + r"lgkmcnt\(0\)"),
    ("scalar loads end in any order", SCALAR_LOAD + READ_LDS + waitcnt(lgkm=1) + SCALAR_USE, MISSING + "lgkmcnt"),
    ("invalidation does not count", LOAD + INVALIDATE + waitcnt(vm=1) + mov(30, 20), MISSING + r"vmcnt\(0\)"),
    ("overwritten", LOAD + mov(20, 9), "v20 is overwritten before its load"),
    ("overwritten by another kind", LOAD + READ_LDS, "v20 is overwritten before its load"),
]
END = waitcnt(vm=0, lgkm=0)  # the kernel reads all registers behind the slot


def prepared() -> tuple[State, torch.Tensor]:
    state, memory = random_state(np.random.default_rng(60), 1), torch.zeros(4096, dtype=torch.uint8)
    set_pair(state.v.transpose(1, 0, 2)[8:10], memory.data_ptr() + np.arange(64, dtype=np.uint64) * 4)
    state.v[0, 11] = np.arange(64) * 4
    state.s[0, 12:16] = [memory.data_ptr() & 0xFFFFFFFF, memory.data_ptr() >> 32, memory.numel(), 0x27000]
    state.s[0, 8:10] = [memory.data_ptr() & 0xFFFFFFFF, memory.data_ptr() >> 32]
    return state, memory


@pytest.mark.parametrize(("words"), [words for _, words in CLEAN], ids=[name for name, _ in CLEAN])
def test_waits_that_suffice(words: list[int]) -> None:
    state, memory = prepared()
    run(words + END, state, memory)


@pytest.mark.parametrize(
    ("words", "message"), [case[1:] for case in FAULTY], ids=[name.replace(" ", "-") for name, *_ in FAULTY]
)
def test_missing_waits(words: list[int], message: str) -> None:
    state, memory = prepared()
    with pytest.raises(wave_runtime.KernelFault, match=message):
        run(words + END, state, memory)


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize(
    ("target", "memory", "lds"),
    [
        ("gfx942", "s_waitcnt vmcnt(62)", "s_waitcnt lgkmcnt(14)"),
        ("gfx1030", "s_waitcnt vmcnt(62)", "s_waitcnt lgkmcnt(62)"),
        ("gfx1100", "s_waitcnt vmcnt(62)", "s_waitcnt lgkmcnt(62)"),
        ("gfx1201", "s_wait_loadcnt 62", "s_wait_dscnt 62"),
    ],
)
def test_the_wait_that_is_missing_can_be_written(target: str, memory: str, lds: str) -> None:
    """Behind the first of seventy loads: a counter's largest value waits for nothing."""
    gfx9 = target == "gfx942"
    exec_mask, b32 = ("exec", "dword") if gfx9 else ("exec_lo", "dword" if target == "gfx1030" else "b32")
    loads = {memory: f"global_load_{b32} v{{}}, v[40:41], off", lds: "ds_read_b32 v{}, v42"}
    source = ""
    for i, load in enumerate(loads.values()):
        lines = [f"s_mov_b{64 if gfx9 else 32} {exec_mask}, 0", load.format(50), *[load.format(51)] * 69]
        text = "\\n".join([*lines, f"global_store_{b32} v[40:41], v50, off"])
        source += (
            f'extern "C" __attribute__((global)) void k{i}() {{ asm volatile("{text}" ::: "v50", "v51", "memory"); }}\n'
        )
    module = wave_runtime.compile(source, target=target, language="hip", options=["-nogpulib", "-nogpuinc"])
    for i, wait in enumerate(loads):
        with pytest.raises(wave_runtime.KernelFault, match=re.escape(f"waited for: {wait} is missing")):
            module[f"k{i}"](grid=1, block=32, device="cpu")


def test_message_has_both_places() -> None:
    state, memory = prepared()
    with pytest.raises(wave_runtime.KernelFault) as caught:
        run(LOAD + mov(30, 20) + END, state, memory)
    lines = str(caught.value).splitlines()
    assert lines[0] == "kernel 'machine' has 1 hazard that hardware does not wait for:"
    assert lines[2].endswith(": v_mov_b32_e32 v30, v20")
    assert lines[3].endswith(": global_load_dword v20, v[8:9], off")
    assert caught.value.instruction == "v_mov_b32_e32 v30, v20"
    assert lines[2].startswith(f"  at machine+{caught.value.pc:#x}:")


def test_all_hazards_are_listed() -> None:
    state, memory = prepared()
    with pytest.raises(wave_runtime.KernelFault, match="has 2 hazards"):
        run(LOAD + LOAD_NEXT + mov(30, 20) + mov(31, 21) + END, state, memory)


def test_hazards_before_a_fault_are_listed_behind_it() -> None:
    state, memory = prepared()
    with pytest.raises(wave_runtime.KernelFault) as caught:
        run(LOAD + mov(30, 20) + encode(BY_NAME["global_load_dword"], VDST=21, ADDR=40, SADDR=127), state, memory)
    lines = str(caught.value).splitlines()
    assert " out of bounds" in lines[0]
    assert caught.value.address is not None
    assert "kernel 'machine' has 1 hazard that hardware does not wait for:" in lines[1:]


def test_without_the_check_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAVE_RUNTIME_CHECK")
    state, memory = prepared()
    run(LOAD + mov(30, 20) + END, state, memory)


# A load whose register is read too early, by an instruction whose result nobody uses.
DEAD = LOAD + mov(30, 20) + mov(30, 9) + END


def test_what_nobody_uses_is_no_hazard() -> None:
    state, memory = prepared()
    run(DEAD, state, memory)
    with pytest.raises(wave_runtime.KernelFault, match="v20 is read before its load has been waited for"):
        run(LOAD + mov(30, 20) + mov(31, 30) + mov(30, 9) + END, state, memory)


def test_what_nobody_uses_is_a_finding_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAVE_RUNTIME_CHECK")
    state, memory = prepared()
    with wave_runtime.sanitize("waits", dead_registers=True) as report:
        run(DEAD, state, memory)
    (finding,) = report.findings
    assert finding.kind == "dead-register"
    assert finding.message.endswith("is missing; nobody uses what is made of it")
    assert finding.at.instruction == "v_mov_b32_e32 v30, v20"
    with wave_runtime.sanitize("waits", fail=True):
        run(DEAD, state, memory)


@pytest.mark.parametrize("behind", [[], mov(20, 9), mov(30, 20)])
def test_a_register_that_is_read_and_overwritten_is_told_of_once(
    behind: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever becomes of what was made."""
    monkeypatch.delenv("WAVE_RUNTIME_CHECK")
    state, memory = prepared()
    with wave_runtime.sanitize("waits", dead_registers=True) as report:
        run(LOAD + mov(20, 20) + waitcnt(vm=0) + behind + END, state, memory)
    assert [(finding.kind, finding.count) for finding in report.findings] == [("missing-wait", 1)]


def test_other_lanes_keep_what_was_made() -> None:
    """An instruction of fewer lanes does not overwrite all of it."""
    state, memory = prepared()
    some = encode(BY_NAME["s_mov_b64"], SDST=126, SSRC0=129)
    every = encode(BY_NAME["s_mov_b64"], SDST=126, SSRC0=193)
    with pytest.raises(wave_runtime.KernelFault, match="v20 is read before"):
        run(LOAD + mov(30, 20) + some + mov(30, 9) + every + END, state, memory)


# Matrix instructions: the wait states that the registers of each need.


def mfma(name: str, d: int, a: int, b: int, c: int) -> list[int]:
    return encode(BY_NAME[name], VDST=d, SRC0=256 + a, SRC1=256 + b, SRC2=256 + c)


F16 = "v_mfma_f32_16x16x16_f16"  # 4 passes
F32 = "v_mfma_f32_4x4x1_16b_f32"  # 2 passes, another unit
LARGE = "v_mfma_f32_32x32x8_f16"  # 8 passes
DOUBLE = "v_mfma_f64_16x16x4_f64"
WITHOUT_C = encode(BY_NAME[F16], VDST=16, SRC0=256 + 4, SRC1=256 + 6, SRC2=128)
STORE_D = encode(BY_NAME["global_store_dword"], DATA=16, ADDR=8, SADDR=127)


def cases() -> Iterator[tuple[str, list[int], list[int], int]]:
    """Two instructions, and the wait states that must lie between them."""
    yield "read by a vector instruction", mfma(F16, 16, 4, 6, 20), mov(30, 17), 7
    yield "read by a store", mfma(F16, 16, 4, 6, 20), STORE_D, 7
    yield "read after f32", mfma(F32, 16, 4, 6, 20), mov(30, 17), 4
    yield "read after many passes", mfma(LARGE, 16, 4, 6, 32), mov(50, 17), 11
    yield "read after f64", mfma(DOUBLE, 16, 4, 6, 24), mov(30, 17), 11
    yield "stored after f64", mfma(DOUBLE, 16, 4, 6, 24), STORE_D, 18
    yield "overwritten", mfma(F16, 16, 4, 6, 20), mov(17, 30), 7
    yield "C overwritten", mfma(F16, 16, 4, 6, 20), mov(21, 30), 3
    yield "read, where C is a constant", WITHOUT_C, mov(30, 17), 7
    yield "factor of the next", mfma(F16, 16, 4, 6, 20), mfma(F16, 24, 16, 6, 28), 7
    yield "C of the next, in part", mfma(F16, 16, 4, 6, 20), mfma(F16, 24, 4, 6, 18), 5
    yield "C of the next", mfma(F16, 16, 4, 6, 20), mfma(F16, 16, 4, 6, 16), 0
    yield "C of the next, of few passes", mfma(F32, 16, 4, 6, 20), mfma(F32, 16, 4, 6, 16), 2
    yield "factor from a vector instruction", mov(4, 30), mfma(F16, 16, 4, 6, 20), 2
    yield "C from a vector instruction", mov(20, 30), mfma(F16, 16, 4, 6, 20), 2


@pytest.mark.parametrize(
    ("first", "second", "states"), [case[1:] for case in cases()], ids=[case[0].replace(" ", "-") for case in cases()]
)
def test_wait_states(first: list[int], second: list[int], states: int) -> None:
    state, memory = prepared()
    run(first + nop(states) + second + nop(20), state, memory)
    if states > 0:
        with pytest.raises(wave_runtime.KernelFault, match=f"after {states - 1} wait states, of {states} "):
            run(first + nop(states - 1) + second + nop(20), state, memory)


# What was read too early is nothing to report where nobody uses what was made of it.

EARLY = LOAD + mov(30, 20) + waitcnt(vm=0)
OVERWRITTEN = mov(30, 9)


def test_an_index_names_other_registers_than_the_instruction() -> None:
    """v31 is copied, not v30 that was made too early; nor is that overwritten by what goes to v31."""
    for operands, copied, copy in (1, [], mov(40, 30)), (8, mov(40, 30), mov(30, 9)):
        indexed = encode(BY_NAME["s_set_gpr_idx_on"], SSRC0=129, SSRC1=operands) + copy
        indexed += encode(BY_NAME["s_set_gpr_idx_off"])
        state, memory = prepared()
        run(EARLY + indexed + OVERWRITTEN + END, state, memory)
        if copied:
            with pytest.raises(wave_runtime.KernelFault, match="v20 is read before its load"):
                run(EARLY + indexed + copied + OVERWRITTEN + END, state, memory)


def test_wait_states_behind_an_indexed_register() -> None:
    """v31 is written, not v30 that is a factor."""
    indexed = encode(BY_NAME["s_set_gpr_idx_on"], SSRC0=129, SSRC1=8) + mov(30, 9)
    state, memory = prepared()
    run(indexed + encode(BY_NAME["s_set_gpr_idx_off"]) + mfma(F16, 16, 30, 6, 20) + nop(20), state, memory)


def test_a_matrix_overwrites_all_lanes() -> None:
    """Whatever EXEC is."""
    half, whole = (encode(BY_NAME["s_mov_b32"], SDST=126, SSRC0=source) for source in (128, 193))
    state, memory = prepared()
    run(EARLY + half + mfma(F16, 28, 4, 6, 12) + nop(20) + whole + END, state, memory)


def test_a_scalar_register_relative_to_m0() -> None:
    """s30 is read, not s20 that is being loaded."""
    state, memory = prepared()
    state.m0[:] = 10
    run(SCALAR_LOAD + encode(BY_NAME["s_movrels_b32"], SDST=40, SSRC0=20) + END, state, memory)


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
def test_a_vector_register_relative_to_m0(target: str) -> None:
    """v30 is read, not v20 that is being loaded."""
    null = 125 if target == "gfx1030" else 124
    state, memory = rdna_machine.State(1, 32), torch.zeros(4096, dtype=torch.uint8)
    set_pair(state.v.transpose(1, 0, 2)[8:10], np.full(32, memory.data_ptr(), dtype=np.uint64))
    state.m0[:] = 10
    load = "global_load_dword" if target == "gfx1030" else "global_load_b32"
    words = encode_rdna(target, load, "GLOBAL", VDST=20, ADDR=8, SADDR=null)
    words += encode_rdna(target, "v_movrels_b32_e32", "VOP1", VDST=40, SRC0=256 + 20)
    if target == "gfx1201":
        words += encode_rdna(target, "s_wait_loadcnt", "SOPP", SIMM16=0)
    else:
        words += encode_rdna(target, "s_waitcnt", "SOPP", SIMM16=0)
    rdna_machine.run(target, words, state, memory)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_a_load_of_half_a_register_may_disturb_the_other(target: str) -> None:
    """LLVM waits for either half since version 22: its feature d16-write-vgpr32."""
    load = encode_rdna(target, "global_load_d16_b16", "GLOBAL", VDST=20, ADDR=8, SADDR=124)
    upper = encode_rdna(target, "v_mov_b16_e32", "VOP1", VDST=30, SRC0=256 + 128 + 20)
    wait = encode_rdna(target, "s_wait_loadcnt" if target == "gfx1201" else "s_waitcnt", "SOPP", SIMM16=0)
    state, memory = rdna_machine.State(1, 32), torch.zeros(4096, dtype=torch.uint8)
    set_pair(state.v.transpose(1, 0, 2)[8:10], np.full(32, memory.data_ptr(), dtype=np.uint64))
    rdna_machine.run(target, load + wait + upper, state, memory)
    with pytest.raises(wave_runtime.KernelFault, match="v20 is read before its load has been waited for"):
        rdna_machine.run(target, load + upper + wait, state, memory)


# Compiled kernels with one wait less.

KERNELS = {
    "vector_add": ((2,), (256,)),
    "matmul_tiled": ((4, 4), (16, 16)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_each_wait_of_a_compiled_kernel_is_missed(name: str) -> None:
    """All but that before a barrier, which is for what other waves read from LDS."""
    grid, block = KERNELS[name]
    found = list(without((EXAMPLES / "binaries" / "basics.hsaco").read_bytes(), name, "s_waitcnt", "s_nop"))
    assert len(found) >= 3
    for image, text in found:
        kernel = wave_runtime.load(image, signature={name: "*f32 const, *f32 const, *f32, i32"})[name]
        tensors = [torch.zeros(64, 64) for _ in range(3)]
        if "s_barrier" in text:
            kernel(*tensors, 64, grid=grid, block=block)
            continue
        with pytest.raises(wave_runtime.KernelFault, match="before its load has been waited for"):
            kernel(*tensors, 64, grid=grid, block=block)


def test_a_wait_for_a_matrix_instruction_is_missed() -> None:
    """A load overwrites C, which the instruction before it is still reading."""
    data = (EXAMPLES / "binaries" / "gemm_f16_16x16x16_256x256x256.hsaco").read_bytes()
    (image,) = (
        image for image, text in without(data, "gemm", "s_nop") if text.startswith("s_nop 3; global_load_dwordx4")
    )
    kernel = wave_runtime.load(image)["gemm"]
    a, b, c = (torch.zeros(256, 256, dtype=dtype) for dtype in (torch.float16, torch.float16, torch.float32))
    with pytest.raises(wave_runtime.KernelFault, match="overwritten after 1 wait states, of 3"):
        kernel(a, b, c, grid=1)
