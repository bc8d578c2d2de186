"""Loading and describing NVIDIA files, without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import wave_runtime
from wave_runtime.__main__ import main
from wave_runtime._info import describe, render

FOLDER = Path(__file__).parent / "code_object" / "nvidia"
CUBIN = FOLDER / "sm_90a.cubin"
PTX = FOLDER / "kernels.ptx"
FATBIN = FOLDER / "zstd.fatbin"
HOST = FOLDER / "host.o"


def test_module() -> None:
    module = wave_runtime.load(FATBIN)
    assert module.targets == ("sm_80", "sm_90a", "sm_90")
    assert module.target == "sm_80"
    assert sorted(module.kernels) == ["in_clusters", "mixed", "nothing", "scale"]
    assert wave_runtime.load(FATBIN, target="sm_90").targets == ("sm_90a",)
    assert wave_runtime.load(CUBIN)["scale"].block == (64, 2, 1)
    builds = wave_runtime.load(HOST)._variants("vector_add")  # the PTX is for later devices than its cubin
    assert [(code.format, code.target) for code in builds] == [("cubin", "sm_80"), ("cubin", "sm_90"), ("PTX", "sm_90")]
    assert repr(wave_runtime.load(HOST)) == "<wave_runtime.Module for sm_80, sm_90: vector_add>"


def test_signatures() -> None:
    cubin, ptx = wave_runtime.load(CUBIN), wave_runtime.load(PTX)
    assert cubin["scale"].signature == "*, *, b32, b32"
    assert ptx["scale"].signature == "out: *, in: *, factor: f32, n: u32"
    assert cubin["mixed"].signature == "b64, b8, bytes[24], b32, b64, b16"
    assert cubin["scale"].writes is cubin["mixed"].writes is ptx["mixed"].writes is None
    given = wave_runtime.load(CUBIN, signature={"mixed": "*i32, u8, bytes[24], i32, f64, f16"})["mixed"]
    assert given.signature == "*i32, u8, bytes[24], i32, f64, f16"
    assert given.writes == (0,)
    with pytest.raises(
        ValueError, match=r"parameter 0 \(i32, 4 bytes\) meets 8 bytes.*\n  offset 0, 8 bytes, pointer_or"
    ):
        wave_runtime.load(CUBIN, signature={"mixed": "i32, i32"})["mixed"]


def test_writes() -> None:
    """What is read only can be said where the pointers are known."""
    assert wave_runtime.load(CUBIN, writes={"scale": [0]})["scale"].signature == "*, *const, b32, b32"
    with pytest.raises(
        ValueError,
        match=r"writes= needs signature= for kernel 'vector_add': its cubin does not say which 8-byte arguments "
        r'\(b64\) are pointers.* signature="\*const, \*const, \*, b32"$',
    ):
        wave_runtime.load(HOST, writes={"vector_add": [2]})["vector_add"]
    example = "*const, *const, *, b32"
    assert wave_runtime.load(HOST, signature={"vector_add": example})["vector_add"].writes == (2,)
    with pytest.raises(ValueError, match="names argument 4, but kernel 'vector_add' has 4"):
        wave_runtime.load(HOST, writes={"vector_add": [4]})["vector_add"]


def test_the_emulator_runs_no_nvidia_code() -> None:
    kernel = wave_runtime.load(CUBIN)["scale"]
    tensor = torch.ones(128)
    with pytest.raises(ValueError, match=r"'scale' was built for sm_90a, and the emulator.* runs code for gfx942"):
        kernel(tensor, tensor, 2, 128, grid=1)


def test_info_of_a_cubin() -> None:
    description = describe(CUBIN)
    assert description["target"] == "sm_90a"
    assert description["images"][0]["format"] == "cubin"
    scale = next(kernel for kernel in description["kernels"] if kernel["name"] == "scale")
    assert scale["block"] == {"required": [64, 2, 1], "max_size": 1024}
    assert (scale["registers"], scale["shared_memory"], scale["local_memory"]) == (14, 512, 0)
    assert wave_runtime.load(CUBIN)["scale"].info == scale
    text = render(description)
    assert text.startswith("sm_90a, cubin\n7828 bytes, sha256 ")
    assert (
        f"""
kernel scale
  signature  *, *, b32, b32
  block      64 x 2 x 1 threads, required
  registers  14 a thread
  shared     512 bytes
  local      0 bytes a thread
  code       {scale["code_size"]} bytes
  parameters 24 bytes
    offset  size  kind           access  type  name
         0     8  global_buffer  -       -     -
         8     8  global_buffer  -       -     -
        16     4  by_value       -       -     -
        20     4  by_value       -       -     -"""
        in text
    )


def test_info_of_ptx() -> None:
    description = describe(PTX)
    assert description["version"] == "8.0"
    assert description["kernels"][0]["registers"] is None
    text = render(description)
    assert text.startswith("sm_80, PTX 8.0\n")
    assert "registers" not in text
    assert "        16     4  by_value       -       .f32  factor\n" in text


def test_info_of_several_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(FATBIN)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("sm_80, cubin: 7200 bytes, sha256 ")
    assert "\nsm_90, PTX 8.8: " in text
    assert "\nkernel scale (sm_80, cubin)\n" in text
    assert "\nkernel scale (sm_90a, cubin)\n" in text
    assert "\n  cluster    2 x 1 x 1 blocks\n" in text
    assert main(["info", "--target", "sm_100", str(FATBIN)]) == 0
    assert capsys.readouterr().out.startswith("sm_90, PTX 8.8\n")


@pytest.mark.parametrize("command", ["disasm", "coverage"])
def test_what_is_for_amd(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(FATBIN)]) == 2
    error = capsys.readouterr().err
    assert "is for AMD code objects; this file holds sm_80 (cubin), sm_90 (PTX), sm_90a (cubin)" in error
    assert "zstd.fatbin" in error
