"""Statistics, traces and checks of waves of 32 lanes: kernels/wave32.hip for gfx1100 and gfx1201."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import test_wave32
import torch
from waits import without

import wave_runtime
from wave_runtime import _C

TARGETS = test_wave32.TARGETS
every_target = pytest.mark.parametrize("target", TARGETS)


def binary(target: str) -> bytes:
    return (test_wave32.FOLDER / f"kernels/wave32_{target}.hsaco").read_bytes()


def load(image: bytes) -> wave_runtime.Module:
    return wave_runtime.load(image, signature=test_wave32.SIGNATURES)


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
    assert re.search(r" s_load_b128 .*  # s\d+ = 0x[0-9a-f]{32}\n", text)
    assert re.search(r" global_load_b32 v(\d+), .*  # v\1 = 0x[0-9a-f]{8} in lane 0\n", text)
    assert not re.search(r"(null|scalar 124) = ", text)


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


WAITS = {"gfx1100": r"s_waitcnt (vmcnt|lgkmcnt)\(\d\)", "gfx1201": r"s_wait_(loadcnt|dscnt|kmcnt) \d"}


@every_target
@pytest.mark.parametrize("name", ["vector_add", "matmul_tiled"])
def test_each_wait_that_is_taken_out_is_missed(target: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But those for stores, which nothing here depends on."""
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards,races")
    grid, block = {"vector_add": (4, 256), "matmul_tiled": ((3, 3), (16, 16))}[name]
    found = [(image, text) for image, text in without(binary(target), name, "s_wait") if "null" not in text]
    assert len(found) >= 2
    for image, _ in found:
        kernel, tensors = load(image)[name], [torch.rand(48, 48) for _ in range(3)]
        with pytest.raises(wave_runtime.KernelFault, match=f": {WAITS[target]} is missing"):
            kernel(*tensors, 48, grid=grid, block=block)
