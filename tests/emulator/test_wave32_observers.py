"""Statistics, traces and checks of waves of 32 lanes: kernels/waves.hip for gfx1030, gfx1100 and gfx1201."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import test_wave32
import torch
from waits import without

import wave_runtime
from wave_runtime import _C
from wave_runtime._disasm import disassemble

TARGETS = test_wave32.TARGETS
every_target = pytest.mark.parametrize("target", TARGETS)


def binary(target: str) -> bytes:
    return (test_wave32.FOLDER / f"kernels/wave32_{target}.hsaco").read_bytes()


def load(image: bytes) -> wave_runtime.Module:
    target = _C.CodeObject(image).target
    return wave_runtime.load(image, signature=test_wave32.signatures(32, target))


@every_target
def test_bytes_and_instructions_are_counted(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine workgroups multiply matrices of 48 by 48 in three steps; what lanes load is beside what waves do."""
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    test_wave32.test_matrix_products(load(binary(target)), "matmul_tiled", 48)
    found = _C.emulator_statistics()
    threads, steps = 48 * 48, 3
    assert found["bytes"]["LDS stored"] == threads * steps * 2 * 4
    assert found["bytes"]["LDS loaded"] == threads * steps * 2 * 16 * 4
    assert found["bytes"]["global stored"] == threads * 4
    assert found["bytes"]["global loaded"] > threads * steps * 2 * 4
    assert found["wave_lanes"] == 32
    assert sum(found["kinds"].values()) == sum(found["names"].values()) == found["instructions"]
    flow = sum(count for name, count in found["names"].items() if re.match(r"s_(wait|barrier|c?branch|endpgm)", name))
    assert flow <= found["kinds"]["program flow"]
    assert found["lds_cycles"] > 0


@every_target
def test_exchanges_between_lanes_move_nothing(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    out = torch.zeros(64, dtype=torch.int32)
    load(binary(target))["sum_in_waves"](torch.ones(64, dtype=torch.int32), out, grid=1, block=64)
    found = _C.emulator_statistics()
    assert found["kinds"]["LDS"] == found["names"]["ds_bpermute_b32"] == 10
    assert not any("LDS" in name for name in found["bytes"])
    assert found["bytes"]["global stored"] == 64 * 4


@every_target
def test_atomics_are_counted(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_STATS", "1")
    test_wave32.test_atomics(load(binary(target)))
    found = _C.emulator_statistics()
    assert (found["bytes"]["LDS atomic"], found["bytes"]["global atomic"]) == (500 * 4, 4 * 16 * 4)


@every_target
def test_a_trace_says_what_was_written(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace"
    monkeypatch.setenv("WAVE_RUNTIME_TRACE", str(path))
    test_wave32.test_vector_add(load(binary(target)), 33)
    text = path.read_text()
    assert re.search(r"wave 1 .* s_and_saveexec_b32 (s\d+), .*  # \1 = 0xffffffff, exec = 0x00000001, scc = 1\n", text)
    assert re.search(r" s_load_(?:b128|dwordx4) .*  # s\d+ = 0x[0-9a-f]{32}\n", text)
    assert re.search(r" global_load_(?:b32|dword) v(\d+), .*  # v\1 = 0x[0-9a-f]{8} in lane 0\n", text)
    assert not re.search(r"(null|scalar 12[45]) = ", text)


@every_target
def test_what_clang_emits_has_no_finding(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards,races")
    kernels = load(binary(target))
    test_wave32.test_vector_add(kernels, 1000)
    test_wave32.test_reductions(kernels)
    test_wave32.test_matrix_products(kernels, "matmul_tiled", 48)
    test_wave32.test_divergence(kernels)
    test_wave32.test_atomics(kernels)
    test_wave32.test_ids_and_lanes(kernels)
    test_wave32.test_scratch(kernels)
    test_wave32.test_halves(kernels)
    test_wave32.test_functions_and_rounding(kernels)
    test_wave32.test_denormal_quotients_are_rounded_once(kernels)


WAITS = {
    **dict.fromkeys(("gfx1030", "gfx1100"), r"s_waitcnt (vmcnt|lgkmcnt)\(\d\)"),
    "gfx1201": r"(s_wait_(loadcnt|dscnt|kmcnt) \d|s_wait_alu depctr_(sa_sdst|va_vcc)\(0\))",
}


@every_target
@pytest.mark.parametrize("name", ["vector_add", "matmul_tiled"])
def test_each_wait_that_is_taken_out_is_missed(target: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But those for stores, and for loads before a barrier, on which nothing here depends."""
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards,races")
    grid, block = {"vector_add": (4, 256), "matmul_tiled": ((3, 3), (16, 16))}[name]
    needless = re.compile("null|s_wait_loadcnt 0x0; s_barrier_signal")
    found = [(image, text) for image, text in without(binary(target), name, "s_wait") if not needless.search(text)]
    assert len(found) >= 2
    for image, _ in found:
        kernel, tensors = load(image)[name], [torch.rand(48, 48) for _ in range(3)]
        with pytest.raises(wave_runtime.KernelFault, match=f": {WAITS[target]} is missing"):
            kernel(*tensors, 48, grid=grid, block=block)


BARRIERS = {
    "gfx1030": ("s_barrier", "s_barrier"),
    "gfx1100": ("s_barrier", "s_barrier"),
    "gfx1201": ("s_barrier_wait", "s_barrier_signal with s_barrier_wait"),
}


@every_target
def test_each_barrier_that_is_taken_out_is_missed(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "races")
    name, text = BARRIERS[target]
    found = list(without(binary(target), "matmul_tiled", name))
    assert len(found) == 2
    for image, _ in found:
        kernel, tensors = load(image)["matmul_tiled"], [torch.rand(48, 48) for _ in range(3)]
        with pytest.raises(wave_runtime.KernelFault, match=f": {text} is missing between them"):
            kernel(*tensors, 48, grid=(3, 3), block=(16, 16))


# Of vector_add, another wait in place of the one for its loads, by its words; and a flat load in place of the last one.
OTHER_WAITS: dict[str, list[tuple[str, int, str]]] = {
    "gfx1030": [
        ("s_waitcnt_vmcnt null, 0x0", 0xBC7D0000, ""),
        ("s_waitcnt vmcnt(1)", 0xBF8C3F71, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt vmcnt(16)", 0xBF8C7F70, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt lgkmcnt(0)", 0xBF8CC07F, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt expcnt(0)", 0xBF8CFF0F, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt_vscnt null, 0x0", 0xBBFD0000, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt_lgkmcnt null, 0x0", 0xBD7D0000, r"s_waitcnt vmcnt\(0\)"),
    ],
    "gfx1100": [
        ("s_waitcnt_vmcnt null, 0x0", 0xBCFC0000, ""),
        ("s_wait_idle", 0xBF8A0000, ""),
        ("s_waitcnt vmcnt(1)", 0xBF8907F7, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt lgkmcnt(0)", 0xBF89FC07, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt_vscnt null, 0x0", 0xBC7C0000, r"s_waitcnt vmcnt\(0\)"),
        ("s_waitcnt_lgkmcnt null, 0x0", 0xBDFC0000, r"s_waitcnt vmcnt\(0\)"),
    ],
    "gfx1201": [
        ("s_wait_loadcnt_dscnt 0x1", 0xBFC80001, ""),
        ("s_wait_idle", 0xBF8A0000, ""),
        ("s_wait_loadcnt 0x1", 0xBFC00001, "s_wait_loadcnt 0"),
        ("s_wait_loadcnt_dscnt 0x100", 0xBFC80100, "s_wait_loadcnt 0"),
        ("s_wait_storecnt_dscnt 0x0", 0xBFC90000, "s_wait_loadcnt 0"),
        ("s_wait_dscnt 0x0", 0xBFC60000, "s_wait_loadcnt 0"),
    ],
}
LOADED = {
    target: word.to_bytes(4, "little")
    for target, word in (("gfx1030", 0xBF8C3F70), ("gfx1100", 0xBF8903F7), ("gfx1201", 0xBFC00000))
}


def vector_add_with(target: str, old: bytes, new: bytes) -> wave_runtime.Kernel:
    """Its first `old` becomes `new`."""
    image = binary(target)
    code = next(kernel for kernel in _C.CodeObject(image).describe()["kernels"] if kernel["name"] == "vector_add")
    line = disassemble(image, "vector_add").splitlines()[1]
    first = b"".join(int(word, 16).to_bytes(4, "little") for word in line.split("  ")[2].split())
    begin = image.index(first)
    at = image.index(old, begin, begin + code["code_size"])
    return load(image[:at] + new + image[at + len(old) :])["vector_add"]


def run_vector_add(kernel: wave_runtime.Kernel, missing: str) -> None:
    tensors = [torch.zeros(64) for _ in range(3)]
    if not missing:
        kernel(*tensors, 64, grid=1, block=256)
        return
    with pytest.raises(
        wave_runtime.KernelFault, match=f"is read before its load has been waited for: {missing} is missing"
    ):
        kernel(*tensors, 64, grid=1, block=256)


@pytest.mark.parametrize(
    ("target", "text", "word", "missing"),
    [(target, *case) for target in TARGETS for case in OTHER_WAITS[target]],
    ids=[f"{target}-{case[0].replace(' ', '-')}" for target in TARGETS for case in OTHER_WAITS[target]],
)
def test_what_waits_wait_for(target: str, text: str, word: int, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards")
    new = word.to_bytes(4, "little")
    assert _C.disassemble(target, new)[0][2] == text
    run_vector_add(vector_add_with(target, LOADED[target], new), missing)


@pytest.mark.parametrize(
    ("target", "old", "new", "missing"),
    [
        ("gfx1030", 0xDC308000, 0xDC300000, r"s_waitcnt vmcnt\(0\) lgkmcnt\(0\)"),
        ("gfx1100", 0xDC520000, 0xDC500000, r"s_waitcnt vmcnt\(0\) lgkmcnt\(0\)"),
        ("gfx1201", 0xEE05007C, 0xEC05007C, "s_wait_loadcnt_dscnt 0"),
    ],
)
def test_flat_loads_are_waited_for_by_two_counters(
    target: str, old: int, new: int, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards")
    kernel = vector_add_with(target, old.to_bytes(4, "little"), new.to_bytes(4, "little"))
    run_vector_add(kernel, missing)
