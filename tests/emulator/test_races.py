"""WAVE_RUNTIME_CHECK=races: accesses of LDS that nothing orders are found, and those that are ordered are not."""

from __future__ import annotations

import pytest
import torch
from machine import State, encode, run, with_words
from memory_support import BY_NAME
from support import EXAMPLES, PROBES
from test_indexing import setvskip
from waits import waitcnt, without

import wave_runtime


@pytest.fixture(autouse=True)
def _check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "races")


SLOT_WORDS = 24
SLOT = (0xBF80000C).to_bytes(4, "little") * SLOT_WORDS
OWN, OTHER, ALL, BYTE, SAME, FLAT = 1, 2, 3, 4, 5, 6  # registers of two_waves, in probes.s


def ds(name: str, address: int, data: int = 0) -> list[int]:
    """An instruction that has its result in v20, if any."""
    operands = {"VDST": 20, "ADDR": address, "DATA0": data}
    present = {operand["field"] for operand in BY_NAME[name]["operands"]}
    return encode(BY_NAME[name], **{field: value for field, value in operands.items() if field in present})


def write(address: int, data: int = 0) -> list[int]:
    return ds("ds_write_b32", address, data)


def read(address: int) -> list[int]:
    return ds("ds_read_b32", address)


SHIFTED = 22
SHIFT = encode(BY_NAME["v_lshlrev_b32_e32"], VDST=SHIFTED, SRC0=128 + 16, VSRC1=0)
BARRIER = encode(BY_NAME["s_barrier"])
DONE, LOADED = waitcnt(lgkm=0), waitcnt(vm=0)
ADD = ds("ds_add_u32", ALL, SAME)
ZERO_M0 = encode(BY_NAME["s_mov_b32"], SDST=124, SSRC0=128)
APPEND = ZERO_M0 + ds("ds_append", 0)
LOAD_TO_LDS = encode(BY_NAME["global_load_lds_dword"], ADDR=OWN, SADDR=4)
TWICE = write(ALL, SAME) + DONE + BARRIER + write(ALL, SAME)
FLAT_STORE = encode(BY_NAME["flat_store_dword"], ADDR=FLAT, DATA=0)
FLAT_LOAD = encode(BY_NAME["flat_load_dword"], VDST=20, ADDR=FLAT)
GLOBAL_LOAD = encode(BY_NAME["global_load_dword"], VDST=21, ADDR=OWN, SADDR=4)

CLEAN: list[tuple[str, list[int]]] = [
    ("its own", write(OWN) + read(OWN) + write(OWN)),
    ("a barrier after a write", write(OWN) + DONE + BARRIER + read(OTHER)),
    ("a barrier after a read", read(OTHER) + DONE + BARRIER + write(OWN)),
    ("two barriers", write(OWN) + BARRIER + DONE + BARRIER + read(OTHER)),
    ("a wait that leaves a later one", write(OWN) + read(OWN) + waitcnt(lgkm=1) + BARRIER + read(OTHER)),
    ("reads", write(OWN) + DONE + BARRIER + read(ALL) + read(OTHER)),
    ("one value", write(ALL, SAME) + read(ALL) + write(ALL, SAME)),
    ("bytes of one dword", ds("ds_write_b8", BYTE) + ds("ds_read_u8", BYTE)),
    ("atomics", ADD + ds("ds_max_rtn_u32", ALL, SAME) + ADD),
    ("counts", APPEND + ds("ds_consume", 0)),
    ("a load into LDS", LOAD_TO_LDS + LOADED + read(OWN)),
    ("loads into LDS end in order", LOAD_TO_LDS + LOAD_TO_LDS + LOADED + BARRIER + read(OTHER)),
    ("a flat store", FLAT_STORE + DONE + BARRIER + read(OTHER)),
    ("a flat load", FLAT_LOAD + DONE + BARRIER + write(OTHER)),
    ("flat and memory", FLAT_STORE + GLOBAL_LOAD + DONE + BARRIER + read(OTHER)),
    ("a read that is skipped", write(OWN) + setvskip(1) + read(OTHER) + setvskip(0)),
    ("a wait between those that are", write(OWN) + setvskip(1) + DONE + setvskip(0) + BARRIER + read(OTHER)),
]
NO_BARRIER = ": s_barrier is missing between them"
FAULTY: list[tuple[str, list[int], str]] = [
    ("a read after a write", write(OWN) + DONE + read(OTHER), "read by wave . after wave . wrote it" + NO_BARRIER),
    ("a write after a read", read(OTHER) + DONE + write(OWN), "written by wave . after wave . read it" + NO_BARRIER),
    ("two values", write(ALL), "byte 512 is written by wave 1 after wave 0 wrote it" + NO_BARRIER),
    (
        "values that differ in their upper half",
        SHIFT + write(ALL, SHIFTED),
        "byte 512 is written by wave 1 after wave 0",
    ),
    ("the value that it has, and another", TWICE + write(ALL), "written by wave . after wave . wrote it" + NO_BARRIER),
    ("an atomic and a read", ADD + DONE + read(ALL), "read by wave . after wave . wrote it" + NO_BARRIER),
    ("a read and an atomic", read(ALL) + DONE + ADD, "written by wave . after wave . read it" + NO_BARRIER),
    ("a count and a read", APPEND + DONE + read(OWN), "byte 0 is read by wave 0 after wave 1 wrote it" + NO_BARRIER),
    (
        "a write not waited for",
        write(OWN) + BARRIER + read(OTHER),
        r"after wave . wrote it: s_waitcnt lgkmcnt\(0\) is missing before the s_barrier between them",
    ),
    (
        "a read not waited for",
        read(OTHER) + BARRIER + write(OWN),
        r"after wave . read it: s_waitcnt lgkmcnt\(0\) is missing before the s_barrier",
    ),
    ("a wait that leaves it", write(OWN) + waitcnt(lgkm=1) + BARRIER + read(OTHER), r"lgkmcnt\(0\) is missing before"),
    ("an earlier barrier", BARRIER + write(OWN) + DONE + read(OTHER) + DONE + BARRIER, NO_BARRIER),
    (
        "its own load into LDS",
        LOAD_TO_LDS + DONE + read(OWN),
        r"accessed by wave ., whose own load into LDS has not been waited for: s_waitcnt vmcnt\(0\) is missing",
    ),
    (
        "a load into LDS",
        LOAD_TO_LDS + DONE + BARRIER + read(OTHER),
        r"read by wave . after wave . wrote it: s_waitcnt vmcnt\(0\) is missing before the s_barrier",
    ),
    ("a flat store", FLAT_STORE + LOADED + BARRIER + read(OTHER), r"s_waitcnt lgkmcnt\(0\) is missing before"),
    ("a flat load", FLAT_LOAD + LOADED + BARRIER + write(OTHER), r"s_waitcnt lgkmcnt\(0\) is missing before"),
    (
        "a flat store and another",  # which end in any order
        FLAT_STORE + FLAT_STORE + waitcnt(lgkm=1) + BARRIER + read(OTHER),
        r"s_waitcnt lgkmcnt\(0\) is missing before",
    ),
]


def launch(words: list[int]) -> None:
    """Runs the instructions in two waves that share LDS."""
    image = (PROBES / "probes.hsaco").read_bytes()
    assert image.count(SLOT) == 1
    image = with_words(image, image.index(SLOT), SLOT_WORDS, words)
    kernel = wave_runtime.load(image, signature={"two_waves": "*i32 const, i64, i32, i32"})["two_waves"]
    kernel(torch.arange(128, dtype=torch.int32), 0, 0, 0, grid=2, block=128)


@pytest.mark.parametrize("words", [words for _, words in CLEAN], ids=[name.replace(" ", "-") for name, _ in CLEAN])
def test_what_is_ordered(words: list[int]) -> None:
    launch(words)


@pytest.mark.parametrize(
    ("words", "message"), [case[1:] for case in FAULTY], ids=[name.replace(" ", "-") for name, *_ in FAULTY]
)
def test_what_nothing_orders(words: list[int], message: str) -> None:
    with pytest.raises(wave_runtime.KernelFault, match=message):
        launch(words)


def test_message_has_both_places() -> None:
    with pytest.raises(wave_runtime.KernelFault) as caught:
        launch(write(OWN) + DONE + read(OTHER))
    lines = str(caught.value).splitlines()
    assert lines[0] == "kernel 'two_waves' has 1 race in LDS, which hardware may decide either way:"
    assert lines[2].endswith(": ds_read_b32 v20, v2")
    assert lines[3].endswith(": ds_write_b32 v1, v0")
    assert caught.value.instruction == "ds_read_b32 v20, v2"
    assert caught.value.workgroup == (0, 0, 0)


def test_both_checks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A register that is used too early, and a race."""
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards,races")
    with pytest.raises(wave_runtime.KernelFault) as caught:
        launch(write(OWN) + DONE + read(OTHER) + write(OWN, 20) + DONE)
    text = str(caught.value)
    assert text.startswith("kernel 'two_waves' has 1 hazard that hardware does not wait for:\nv20 is read before")
    assert "\nkernel 'two_waves' has 2 races in LDS, which hardware may decide either way:\nbyte " in text


def test_without_the_check_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAVE_RUNTIME_CHECK")
    launch(write(OWN) + DONE + read(OTHER))


@pytest.mark.parametrize("instruction", ["s_barrier", "s_waitcnt lgkmcnt(0)"])
def test_what_a_compiled_kernel_has_for_order_is_missed(instruction: str) -> None:
    """The tiles of a matrix product: both barriers, and the waits that they need."""
    data = (EXAMPLES / "binaries" / "basics.hsaco").read_bytes()
    found = list(without(data, "matmul_tiled", instruction))
    assert len(found) >= 2
    for image, text in found:
        kernel = wave_runtime.load(image, signature={"matmul_tiled": "*f32 const, *f32 const, *f32, i32"})
        tensors = [torch.rand(64, 64) for _ in range(3)]
        if text.endswith("s_cmp_lt_i32 s10, 1"):  # the wait for the arguments
            kernel["matmul_tiled"](*tensors, 64, grid=(4, 4), block=(16, 16))
            continue
        with pytest.raises(wave_runtime.KernelFault, match=r"races? in LDS.*\n.*after wave"):
            kernel["matmul_tiled"](*tensors, 64, grid=(4, 4), block=(16, 16))


def test_a_loop_whose_address_comes_by_many_ways() -> None:
    """Whether its load is a poll is found out soon, though each of 13 products is made of all 16 registers before."""
    loop = [word for row in range(16) for word in encode(BY_NAME["v_mov_b32_e32"], VDST=row, SRC0=128)]
    loop += 13 * encode(BY_NAME["v_mfma_f32_32x32x8_f16"], VDST=0, SRC0=256 + 4, SRC1=256 + 6, SRC2=256)
    loop += encode(BY_NAME["ds_read_b32"], ADDR=0, VDST=20)
    back = encode(BY_NAME["s_cbranch_scc1"], SIMM16=-len(loop) - 1 & 0xFFFF)
    state = State(1)
    state.lds[0, 0] = 7
    assert (run(loop + back, state).v[0, 20] == 7).all()
