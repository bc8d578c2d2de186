"""What extensions ask of HIP's headers, and those of ROCm 5 do not have, on emulated GPUs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from support import ROOT

import wave_runtime
from wave_runtime._emulate import _hip_headers

SIGNATURES = {
    "shuffles": "values: *f64 const, results: *f64, lane: i32, width: i32",
    "votes": "values: *i32 const, results: *i64, mask: i64",
    "halves": "pairs: *f16 const, results: *f32",
    "sums": "pairs: *f16 const, halves: *f16, brains: *bf16",
    "places": "results: *i32",
    "tiles": "values: *i32 const, results: *i64",
}

pytestmark = pytest.mark.needs("hip-compiler")


def compile_with(toolchain: Path, folder: Path, source: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """Compile a source with the headers of a toolchain and with ours, which are put into the folder."""
    _hip_headers.complete(folder / "include", toolchain / "include")
    command = ["clang++-19", "-x", "hip", "--offload-device-only", f"--rocm-path={toolchain}", "-std=c++17"]
    command += [f"-I{folder / 'include'}", "-DHIP_ENABLE_WARP_SYNC_BUILTINS=1", *map(str, options), str(source)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module", params=[("gfx942", 64), ("gfx1100", 32)], ids=["gfx942", "gfx1100"])
def loaded(
    request: pytest.FixtureRequest, hip_toolchain: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[wave_runtime.Module, int]:
    """The kernels, and the lanes of a wave."""
    target, lanes = request.param
    folder = tmp_path_factory.mktemp("headers")
    options = [f"--offload-arch={target}", "-O1", "-Werror", "-o", folder / "kernels.hsaco"]
    done = compile_with(hip_toolchain, folder, ROOT / "tests" / "torch_extension" / "newer_hip.hip", *options)
    assert done.returncode == 0, done.stderr
    return wave_runtime.load(folder / "kernels.hsaco", signature=SIGNATURES), lanes


@pytest.mark.parametrize(("lane", "width"), [(1, 8), (5, 16), (7, 32)])
def test_shuffles_of_named_lanes(loaded: tuple[wave_runtime.Module, int], lane: int, width: int) -> None:
    module, lanes = loaded
    values = torch.randn(lanes, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    results = torch.empty(8, lanes, dtype=torch.float64)
    module["shuffles"](values, results, lane, width, grid=1, block=lanes)
    own = torch.arange(lanes)
    first, place = own // width * width, own % width
    sources = (
        first + lane % width,
        torch.where(place >= lane, own - lane, own),
        torch.where(place + lane < width, own + lane, own),
        own ^ lane,
    )
    other = (own ^ lane).double()
    expected = [*(values[source] for source in sources), other, -other, other, other * 2**40]
    assert torch.equal(results, torch.stack(expected))


def test_a_mask_of_32_bits_says_what_to_write(hip_toolchain: Path, tmp_path: Path) -> None:
    """As CUDA's programs have it: it would leave out half of a wave of 64 lanes."""
    source = tmp_path / "kernel.hip"
    call = "*a = __shfl_xor_sync(0xffffffff, *a, 1);"
    source.write_text(f"#include <hip/hip_runtime.h>\n__global__ void f(int* a) {{ {call} }}\n")
    done = compile_with(hip_toolchain, tmp_path, source, "--offload-arch=gfx942", "-fsyntax-only")
    assert done.returncode == 1
    assert "the mask must be a 64-bit integer, as in HIP: a wave may have 64 lanes, and ~0ull names all" in done.stderr
    assert "kernel.hip:2:" in done.stderr


def test_votes_of_named_lanes(loaded: tuple[wave_runtime.Module, int]) -> None:
    module, lanes = loaded
    values = (torch.arange(lanes) % 3 == 0).int()
    mask = sum(1 << lane for lane in range(lanes) if lane % 5 != 1)
    ones = sum(1 << lane for lane in range(0, lanes, 3) if lane % 5 != 1)
    zeros = mask & ~ones
    results = torch.full((8, lanes), -1)
    module["votes"](values, results, mask - (1 << 64) if mask >> 63 else mask, grid=1, block=lanes)
    for lane in range(lanes):
        row = [int(value) % (1 << 64) for value in results[:, lane]]
        expected = [mask, ones, 1, 0, ones & 0xFF, ones if ones >> lane & 1 else zeros, 0, 0]
        assert row == (expected if mask >> lane & 1 else [(1 << 64) - 1] * 8)
    module["votes"](torch.ones(lanes, dtype=torch.int32), results, -1, grid=1, block=lanes)
    every = (1 << lanes) - 1
    for lane in range(lanes):
        assert [int(value) % (1 << 64) for value in results[:, lane]] == [every, every, 1, 1, 0xFF, every, every, 1]


def test_pairs_of_halves(loaded: tuple[wave_runtime.Module, int]) -> None:
    """They consist of halves, of which there is the larger and the smaller one."""
    module, _ = loaded
    numbers = [1.5, -2.0, float("nan"), float("inf"), 0.25]
    pairs = torch.cartesian_prod(*[torch.tensor(numbers, dtype=torch.float16)] * 2).contiguous()
    results = torch.empty(7, len(pairs))
    module["halves"](pairs, results, grid=1, block=len(pairs))
    x, y = pairs.float().T
    of_both = [x, y, x.fmax(y), x.fmin(y), x.maximum(y), x.minimum(y)]
    torch.testing.assert_close(results, torch.stack([*of_both, y]), rtol=0, atol=0, equal_nan=True)


def test_atomic_sums_of_pairs(loaded: tuple[wave_runtime.Module, int]) -> None:
    module, lanes = loaded
    pairs = torch.stack([torch.arange(lanes) % 4, -(torch.arange(lanes) % 3)], dim=1).to(torch.float16)
    halves, brains = torch.zeros(2, dtype=torch.float16), torch.zeros(2, dtype=torch.bfloat16)
    module["sums"](pairs, halves, brains, grid=1, block=lanes)
    assert halves.tolist() == brains.tolist() == pairs.sum(0).tolist()


def test_votes_of_tiles(loaded: tuple[wave_runtime.Module, int]) -> None:
    """Of 16 lanes, and of 4, in several waves, of which lanes have left."""
    module, lanes = loaded
    count = 3 * lanes
    values = torch.randint(-1, 3, (count,), dtype=torch.int32, generator=torch.Generator().manual_seed(0))
    values[:12] = torch.tensor([1, 1, 1, 1, 2, -1, 2, 2, -1, 1, 1, -1])
    results = torch.full((10, count), -1)
    module["tiles"](values, results, grid=1, block=count)
    numbers = values.tolist()
    for lane, value in enumerate(numbers):
        if value < 0:
            assert results[:, lane].tolist() == [-1] * 10
            continue
        tile, part = numbers[lane // 16 * 16 :][:16], numbers[lane // 4 * 4 :][:4]
        there = [each for each in part if each >= 0]
        alike = set(there) == {value}
        expected = [
            sum(1 << i for i, each in enumerate(tile) if each == 1),
            sum(1 << i for i, each in enumerate(tile) if each == value),
            sum(1 << i for i, each in enumerate(part) if each >= 0) if alike else 0,
            alike,
            1 in there,
            set(there) == {1},
            lane // 16,
            count // 16,
            lane // 4,
            count // 4,
        ]
        assert results[:, lane].tolist() == expected


def test_parts_of_places_are_numbers(loaded: tuple[wave_runtime.Module, int]) -> None:
    """threadIdx.x and its like, to templates, ``auto`` and operators of the program."""
    module, _ = loaded
    results = torch.zeros(12, dtype=torch.int32)
    module["places"](results, grid=3, block=4)
    assert results.tolist() == [2 + 10 * (3 + 4)] * 12


def test_parts_of_vectors_are_numbers_on_the_host(hip_toolchain: Path, tmp_path: Path) -> None:
    """In code that the system's compiler compiles, as that of an extension's .cpp files: for templates and pointers."""
    _hip_headers.complete(tmp_path / "include", hip_toolchain / "include")
    program = tmp_path / "program"
    includes = (f"-I{tmp_path / 'include'}", f"-I{hip_toolchain / 'include'}", "-D__HIP_PLATFORM_AMD__=1")
    source = ROOT / "tests" / "torch_extension" / "vectors_on_host.cpp"
    subprocess.run(["c++", "-std=c++17", *includes, source, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "5 6 7 8; 4 16; 3; 8\n"
