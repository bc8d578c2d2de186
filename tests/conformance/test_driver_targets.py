"""What a binary was built for, on every driver: the build that fits is chosen, others are refused by name."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
import torch
from conformance_support import BINARY, FOLDER, SIGNATURES, SOURCE, TABLE, TABLE_BYTES, Driver, loaded_of
from cuda_support import program
from requirements import does_not_apply, need
from support import bundle

import wave_runtime

OTHER = FOLDER.parent / "code_object"


def entry_of(driver: Driver, module: wave_runtime.Module) -> int:
    out = driver.zeros(2)
    module["take"](out, 1, 7, grid=1, block=64)
    return int(out[1].item())


def marked(binary: bytes, entry: int) -> bytes:
    """The same build with another number at the end of its table."""
    assert binary.count(TABLE_BYTES) == 1
    return binary.replace(TABLE_BYTES, struct.pack("<8i", *TABLE[:7], entry))


def test_built_for_another_vendor(driver: Driver) -> None:
    if driver.is_nvidia:
        kernel = wave_runtime.load(BINARY, signature=SIGNATURES)["vector_add"]
        message = (
            rf"kernel 'vector_add' was built for gfx942, cuda:0 \(.*\) is {driver.target}: build the kernel for it"
        )
    else:
        kernel = wave_runtime.load(OTHER / "nvidia" / "sm_90.cubin")["scale"]
        message = "kernel 'scale' was built for sm_90, "
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    arguments = (a, a, c, 64) if driver.is_nvidia else (c, a, 64, 1)
    for launch in (kernel, kernel.bind):
        with pytest.raises(ValueError, match=message):
            launch(*arguments, grid=1, block=64)
    with pytest.raises(ValueError, match=message):
        kernel.preload(driver.device)


def with_processor(binary: bytes, machine: int) -> bytes:
    """An AMD code object whose header names another processor: EF_AMDGPU_MACH."""
    (flags,) = struct.unpack_from("<I", binary, 48)
    return binary[:48] + struct.pack("<I", flags & ~0xFF | machine) + binary[52:]


GFX908, GFX942, GFX9_4_GENERIC = 0x30, 0x4C, 0x5F


def for_gfx908(entry: int) -> bytes:
    binary = with_processor(BINARY.read_bytes(), GFX908).replace(
        b"amdgcn-amd-amdhsa--gfx942", b"amdgcn-amd-amdhsa--gfx908"
    )
    return marked(binary, entry)


def test_built_for_another_processor(driver: Driver) -> None:
    kernel = wave_runtime.load(for_gfx908(1), signature=SIGNATURES)["take"]
    with pytest.raises(ValueError, match="kernel 'take' was built for gfx908, ") as caught:
        kernel(driver.zeros(2), 1, 0, grid=1, block=64)
    expected = {
        "emulator": "emulator, which launches on CPU tensors, runs code for gfx942, gfx1030, gfx1031, gfx1032, "
        "gfx1033, gfx1034, gfx1035, gfx1036, gfx1100, gfx1101, gfx1102, gfx1103, gfx1150, gfx1151, gfx1152, gfx1153, "
        "gfx1200, gfx1201, gfx9-generic, gfx90a, gfx950, and for generic targets that cover these: move the tensors",
        "hip-emulator": r"cpu \(hip\) \(.*\) is gfx942.*: build the kernel for it, or load a bundle that has an entry",
    }
    nvidia = rf"cuda:0 \(.*\) is {driver.target}: build the kernel for it, or load a bundle that has an entry"
    assert re.search(expected.get(driver.name, nvidia), str(caught.value))


def test_the_entry_of_a_bundle_that_fits(driver: Driver) -> None:
    if driver.is_nvidia:
        does_not_apply("bundles hold AMD's code")
    data = bundle(("gfx908", for_gfx908(1)), ("gfx942", marked(BINARY.read_bytes(), 2)))
    module = wave_runtime.load(data, signature=SIGNATURES)
    assert set(module.targets) == {"gfx908", "gfx942"}
    assert entry_of(driver, module) == 2
    with pytest.raises(ValueError, match="was built for gfx908, "):
        entry_of(driver, wave_runtime.load(bundle(("gfx908", for_gfx908(1))), signature=SIGNATURES))


def for_generic(entry: int, machine: int = GFX9_4_GENERIC) -> bytes:
    """The build, which uses nothing that a part of the family lacks, for a generic target of version 1, in v6."""
    binary = bytearray(with_processor(BINARY.read_bytes(), machine))
    assert binary.count(b"amdgcn-amd-amdhsa--gfx942") == 1
    at = binary.index(b"amdhsa.target") + len(b"amdhsa.target")
    assert binary[at : at + 2] == b"\xb9a"  # a text of 25 bytes
    binary[at + 1 : at + 26] = b"amdgpu9.4-amd-amdhsa-any-"  # and the processor is that of the triple
    binary[8] = 4
    binary[51] = 1
    return marked(bytes(binary), entry)


def test_generic_targets(driver: Driver) -> None:
    """What they cover runs them, where there is no build for it alone, and one for another device changes nothing."""
    if driver.is_nvidia:
        does_not_apply("generic targets are AMD's")
    generic = ("gfx9-4-generic", for_generic(1))
    own, other = ("gfx942", marked(BINARY.read_bytes(), 2)), ("gfx908", for_gfx908(3))
    for entries, expected in (
        ([generic], 1),
        ([generic, other], 1),
        ([other, generic], 1),
        ([generic, own], 2),
        ([own, generic], 2),
    ):
        module = wave_runtime.load(bundle(*entries), signature=SIGNATURES)
        assert entry_of(driver, module) == expected
        assert entry_of(driver, wave_runtime.load(bundle(*entries), target="gfx942", signature=SIGNATURES)) == expected


@pytest.mark.needs("clang-offload-bundler")
@pytest.mark.parametrize("options", [[], ["-compress"]])
def test_bundles_of_clang(driver: Driver, tmp_path: Path, options: list[str]) -> None:
    if driver.is_nvidia:
        does_not_apply("bundles hold AMD's code")
    (tmp_path / "host").write_bytes(b"")
    (tmp_path / "gfx908").write_bytes(for_gfx908(3))
    (tmp_path / "gfx942").write_bytes(marked(BINARY.read_bytes(), 4))
    targets = "host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx908,hipv4-amdgcn-amd-amdhsa--gfx942"
    command = [need("clang-offload-bundler"), "-type=o", f"-targets={targets}", "-bundle-align=4096", *options]
    command += [f"-input={tmp_path / name}" for name in ("host", "gfx908", "gfx942")] + [
        f"-output={tmp_path / 'bundle'}"
    ]
    subprocess.run(command, check=True)
    assert entry_of(driver, wave_runtime.load(tmp_path / "bundle", signature=SIGNATURES)) == 4


def test_the_entry_of_a_fatbin_that_fits(gpu: Driver, tmp_path: Path) -> None:
    """nvcc's container with a cubin for another GPU, one for this, and PTX: the cubin for this runs."""
    if not gpu.is_nvidia:
        does_not_apply("fat binaries of CUDA are NVIDIA's")
    nvcc = program("nvcc").path
    processor = gpu.target.removeprefix("sm_")
    codes = [f"-gencode=arch=compute_{a},code={kind}_{a}" for a in ("80", processor) for kind in ("sm", "compute")]
    fatbin = tmp_path / "kernels.fatbin"
    subprocess.run([nvcc, "-fatbin", "-std=c++17", *dict.fromkeys(codes), "-o", fatbin, SOURCE], check=True)
    module = wave_runtime.load(fatbin, signature=SIGNATURES)
    kernel = module["take"]
    out = gpu.zeros(2)
    kernel(out, 1, 7, grid=1, block=64)
    assert out[1].item() == TABLE[7]
    assert (gpu.driver, gpu.target) in {(item.driver, item.target) for item in loaded_of(module)}


def test_ptx_is_compiled_by_the_driver(gpu: Driver, tmp_path: Path) -> None:
    if gpu.driver != "cuda":
        does_not_apply("HIP loads no PTX")
    nvcc = program("nvcc").path
    ptx = tmp_path / "kernels.ptx"
    subprocess.run([nvcc, "-ptx", "-std=c++17", "-arch=compute_80", "-o", ptx, SOURCE], check=True)
    module = wave_runtime.load(ptx, signature=SIGNATURES)
    assert entry_of(gpu, module) == TABLE[7]
    # A newer virtual processor's does not run.
    newer = ptx.read_text().replace(".target sm_80", ".target sm_120")
    with pytest.raises(ValueError, match=rf"was built for sm_120, cuda:0 \(.*\) is {gpu.target}"):
        entry_of(gpu, wave_runtime.load(newer.encode(), signature=SIGNATURES))


def test_ptx_that_the_driver_rejects(gpu: Driver) -> None:
    """The compiler's log is in the error."""
    if gpu.driver != "cuda":
        does_not_apply("the log is CUDA's")
    ptx = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry broken(.param .u64 out)
{
  .reg .u64 %r<3>;
  ld.param.u64 %r1, [out];
  add.u64 %r2, %r1, %undefined;
  ret;
}
"""
    kernel = wave_runtime.load(ptx, signature="*i32")["broken"]
    with pytest.raises(RuntimeError, match=r"(?s)CUDA_ERROR_INVALID_PTX.*undefined"):
        kernel(gpu.zeros(1), grid=1, block=1)


@pytest.mark.needs("clang-22")
def test_the_binary_is_of_the_source(tmp_path: Path) -> None:
    """Not the same bytes: those depend on clang's release."""
    import sys

    rebuilt = tmp_path / "kernels.hsaco"
    subprocess.run([sys.executable, FOLDER / "make.py", rebuilt], check=True)
    kernels = [wave_runtime.load(path).kernels for path in (rebuilt, BINARY)]
    assert kernels[0] == kernels[1] == tuple(SIGNATURES)
