"""``python -m wave_runtime selftest``. Here the HIP library over the emulator is the GPU."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest
import torch
import warm_python
from requirements import does_not_apply
from support import PROBES

import wave_emulator
import wave_runtime
from wave_runtime import _C, _selftest, _selftest_cases
from wave_runtime.__main__ import main
from wave_runtime._disasm import disassemble

HIP = {**os.environ, "WAVE_RUNTIME_LIBHIP": str(wave_emulator.library("wave_hip_emulator"))}

# On the device v_or_b32_e32 becomes v_xor_b32_e32, whose opcode has one bit more.
PLANT = """
import sys
from wave_runtime import _selftest
from wave_runtime.__main__ import main

launch = _selftest._launch


def faulty(device, driver, image, blocks, memory):
    if driver == "hip":
        marker = bytes.fromhex("070080bf")  # the wait before each instruction
        at = image.index(marker) + 4
        word = int.from_bytes(image[at : at + 4], "little") ^ 1 << 25
        image = image[:at] + word.to_bytes(4, "little") + image[at + 4 :]
    return launch(device, driver, image, blocks, memory)


_selftest._launch = faulty
sys.exit(main(["selftest", "--rows", "v_or_b32_e32", "--cases", "1"]))
"""


@pytest.mark.parametrize("processor", _selftest_cases.PROCESSORS)
@pytest.mark.parametrize("rows", ["_b32", "f8f6f4", pytest.param("", marks=pytest.mark.long)])
def test_instructions_are_equal_on_the_same_emulator(rows: str, processor: str) -> None:
    """By default those of the processor that the device is."""
    drawn = _selftest_cases.rows(processor, rows)
    if not drawn:
        does_not_apply(f"{processor} has no {rows}")
    command = ["-m", "wave_runtime", "selftest", "--device", "hip", "--cases", "1", "--rows", rows]
    done = warm_python.run(*command, env=HIP | {"WAVE_RUNTIME_EMULATOR_PROCESSOR": processor})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f"device: CPU tensors, driver hip; instructions of {processor}; seed ''" in lines
    assert lines[-1] == "no difference"
    (total,) = (line.split() for line in lines if line.startswith("all "))
    assert total == ["all", str(len(drawn)), "0", "0"]


@pytest.mark.parametrize("processor", ["gfx942", "gfx1030", "gfx1151", "gfx1201"])
def test_a_difference_is_found(processor: str) -> None:
    done = warm_python.run("-c", PLANT, env=HIP | {"WAVE_RUNTIME_EMULATOR_PROCESSOR": processor})
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "1 instructions differ"
    assert lines[-2].startswith("v_or_b32_e32 v32, ")
    assert "v32 of lane " in lines[-2]


@pytest.mark.parametrize("processor", sorted(_selftest_cases.SAME))
def test_processors_that_share_instructions(processor: str) -> None:
    """The target may be named, as it may where they have their own."""
    command = ["-m", "wave_runtime", "selftest", "--device", "cpu", "--rows", "v_add_f32_e32", "--target", processor]
    done = warm_python.run(*command)
    assert done.returncode == 0, done.stderr
    assert f"instructions of {_selftest_cases.SAME[processor][0]}" in done.stdout


# Prints a digest of what the emulator makes of some products.
DIGEST = """
import hashlib
import sys
from wave_runtime import _selftest
from wave_runtime.__main__ import main

launch = _selftest._launch


def told(*arguments):
    after = launch(*arguments)
    print("digest", hashlib.sha256(after.numpy().tobytes()).hexdigest())
    return after


_selftest._launch = told
main(["selftest", "--device", "cpu", "--target", "gfx942", "--rows", "v_mfma_f32_32x32x8_f16", "--cases", "4"])
"""


def test_products_are_summed_exactly_unless_the_variable_says_otherwise() -> None:
    """The variable is read when the emulator's library is loaded, which is before the command begins."""
    digests = {}
    for sums in ("", "exact", "fast"):
        done = warm_python.run("-c", DIGEST, env={**os.environ, "WAVE_RUNTIME_MFMA": sums})
        assert done.returncode == 0, done.stderr
        digests[sums] = {line for line in done.stdout.splitlines() if line.startswith("digest")}
    assert digests[""] == digests["exact"] != digests["fast"]


@pytest.mark.parametrize("processor", _selftest_cases.PROCESSORS)
def test_the_whole_instruction_set_is_tried_but_what_one_instruction_cannot_show(processor: str) -> None:
    runs = set(_C.implemented_instructions(processor))
    rows = [row for row in _C.isa_rows(processor) if row["base_name"] in runs]
    tried = _selftest_cases.rows(processor)
    assert len(tried) > 0.85 * len(rows)
    left_out = {row["base_name"] for row in rows} - {row["base_name"] for row in tried}
    assert {"s_setpc_b64", "ds_append"} <= left_out
    assert not left_out & {"v_add_f32", "ds_add_u32", "global_atomic_add", "v_mfma_f32_16x16x16_f16", "s_load_dword"}
    assert not left_out & {"global_atomic_add_u32", "v_wmma_f32_16x16x16_f16", "s_load_b32", "v_dual_add_f32"}


@pytest.mark.parametrize(
    ("processor", "name"),
    [
        ("gfx942", "v_add_f32_e32"),
        ("gfx942", "global_load_dwordx4"),
        ("gfx942", "v_mfma_f64_16x16x4_f64"),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4"),
        ("gfx950", "v_cvt_scalef32_pk32_f32_fp6"),
        ("gfx1030", "v_add_f32_sdwa"),
        ("gfx1030", "global_load_dwordx4"),
        ("gfx1100", "v_wmma_f32_16x16x16_f16"),
        ("gfx1100", "v_dual_add_f32 :: v_dual_mul_f32"),
        ("gfx1150", "v_add_f32_e64_dpp"),
        ("gfx1201", "v_swmmac_f32_16x16x32_fp8_fp8"),
        ("gfx1201", "buffer_load_b128"),
    ],
)
def test_instructions_have_an_effect(processor: str, name: str) -> None:
    """What the kernel gives back differs from what it was given in the destination."""
    row = next(row for row in _selftest_cases.rows(processor, name) if name in (row["mnemonic"], row["base_name"]))
    report = _selftest.Report("", "", processor)
    memory = torch.randint(256, (_selftest_cases.MEMORY,), dtype=torch.uint8)
    case = _selftest_cases.draw(processor, row, "", 0, memory.data_ptr())
    assert case is not None
    after = _selftest._launch("cpu", "emulator", _selftest_cases.image(processor, [case]), case.block[None], memory)
    _selftest._judge(case, case.block, after[0], report)
    assert report.findings[0].place.startswith("v32 of lane")


@pytest.mark.parametrize(
    ("differ", "near"), [(0x3F800001, True), (0x3F800002, False), (0x7FC00000, False)], ids=["one", "two", "nan"]
)
def test_one_unit_in_the_last_place_is_near(differ: int, near: bool) -> None:
    (row,) = _selftest_cases.rows("gfx942", "v_add_f32_e32")
    case = _selftest_cases.draw("gfx942", row, "", 0, 0)
    assert case is not None
    device, emulator = case.block.clone(), case.block.clone()
    at = _selftest_cases.VGPRS + 32 * 64
    emulator[at], device[at] = 0x3F800000, differ
    report = _selftest.Report("", "", "gfx942")
    _selftest._judge(case, device, emulator, report)
    assert bool(report.near) == near
    assert bool(report.findings) != near


def test_a_processor_without_instructions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = {"devices": [{"target": "gfx906"}]}
    monkeypatch.setattr(_C, "describe_driver", lambda name: devices)
    with pytest.raises(ValueError, match=r"of gfx90a, gfx942, .* and gfx1201, and the device is gfx906: .* --target"):
        _selftest.selftest("cpu")


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("processor", _selftest_cases.PROCESSORS)
def test_the_kernel_is_what_its_source_makes(processor: str, tmp_path: Path) -> None:
    runpy.run_path(str(PROBES / "build.py"))["selftest"]("clang-22", processor, tmp_path / "selftest.hsaco")
    committed = Path(wave_runtime.__file__).parent / f"selftest_{processor}.hsaco"
    assert disassemble(tmp_path / "selftest.hsaco") == disassemble(committed)


def test_without_a_gpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["selftest", "--device", "cuda"]) == 2
    assert "torch finds no GPU here" in capsys.readouterr().err


def test_without_a_device() -> None:
    environment = {**os.environ, "WAVE_RUNTIME_LIBHIP": "/none/libamdhip64.so"}
    done = warm_python.run("-m", "wave_runtime", "selftest", "--device", "hip", env=environment)
    assert done.returncode == 2
    assert "the driver hip has no device: the HIP runtime libamdhip64 is not available" in done.stderr
