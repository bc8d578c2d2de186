"""Every kernel of examples/kernels, against torch; rebuilt from source where the compilers are."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from catalog import CATALOG, Example, load, wave_gemm

import wave_runtime

ROOT = Path(__file__).parent.parent
KERNELS = ROOT / "examples" / "kernels"

CASES = [pytest.param(example, size, id=f"{example.name}-{size}") for example in CATALOG for size in example.sizes]


def check(example: Example, size: tuple[int, ...]) -> None:
    inputs = example.inputs(*size)
    torch.testing.assert_close(example.run(*inputs), example.reference(*inputs), rtol=0, atol=example.tolerance)


@pytest.mark.parametrize(("example", "size"), CASES)
def test_against_torch(example: Example, size: tuple[int, ...]) -> None:
    check(example, size)


def test_every_kernel_of_the_folder_is_in_the_catalog() -> None:
    kernels = {(file.stem, name) for file in KERNELS.glob("*.hsaco") for name in wave_runtime.load(file).kernels}
    names = {name if name != "gemm" else stem for stem, name in kernels}
    assert names == {example.name for example in CATALOG}


def test_tables_in_the_demo() -> None:
    """`make demo` itself: it compares with torch and fails where results differ."""
    done = subprocess.run([sys.executable, "examples/mlp.py"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for example in CATALOG:
        assert f"\n{example.name} " in done.stdout
    assert "MLP on Wave kernels, torch.compile" in done.stdout
    assert "All results equal torch's" in done.stdout


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_simd_levels_give_the_same_bits(level: str, tmp_path: Path) -> None:
    """The level is chosen once for a process, so each runs in one of its own."""
    code = (
        "import sys, torch\n"
        "from catalog import CATALOG\n"
        "torch.manual_seed(0)\n"
        "torch.save([example.run(*example.inputs(*example.sizes[-1])) for example in CATALOG], sys.argv[1])\n"
    )
    results = []
    for name in (level, None):
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{KERNELS}"}
        environment.pop("WAVE_RUNTIME_SIMD", None)
        if name is not None:
            environment["WAVE_RUNTIME_SIMD"] = name
        file = tmp_path / "results.pt"
        done = subprocess.run([sys.executable, "-c", code, file], env=environment, capture_output=True, text=True)
        if done.returncode != 0 and "this processor lacks it" in done.stderr:
            pytest.skip(f"this processor lacks {level}")
        assert done.returncode == 0, done.stderr
        results.append(torch.load(file))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def load_build_script() -> object:
    spec = importlib.util.spec_from_file_location("build_kernels", KERNELS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(importlib.util.find_spec("iree") is None, reason="wave-lang is not installed: make wave")
@pytest.mark.parametrize("name", [example.name for example in CATALOG if example.name.startswith("wave_")])
def test_rebuilt_by_the_wave_compiler(name: str, tmp_path: Path) -> None:
    """In a process of its own: the Wave compiler changes torch's settings."""
    code = f"import build; build.build_wave({name!r}, __import__('pathlib').Path({str(tmp_path)!r}))"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{KERNELS}"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, timeout=300)
    example = next(example for example in CATALOG if example.name == name)
    run = wave_gemm(str(tmp_path / f"{name}.hsaco"), dynamic=len(example.sizes) > 1)
    for size in example.sizes:
        inputs = example.inputs(*size)
        torch.testing.assert_close(run(*inputs), example.run(*inputs), rtol=0, atol=1e-6)


@pytest.mark.skipif(shutil.which("clang-19") is None, reason="clang-19 is not installed")
def test_rebuilt_by_clang(tmp_path: Path) -> None:
    module = load_build_script()
    path = module.build_hip("basics.hip", tmp_path)  # type: ignore[attr-defined]
    old, new = wave_runtime.load(KERNELS / "basics.hsaco"), wave_runtime.load(path)
    assert new.kernels == old.kernels
    kernel = wave_runtime.load(path, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]
    a, b, c = torch.randn(100), torch.randn(100), torch.zeros(100)
    kernel(a, b, c, 100, grid=1, block=128)
    assert torch.equal(c, a + b)


def test_a_model_of_kernels_compiles() -> None:
    up = wave_gemm("wave_gemm_f16_16x16x16.hsaco", dynamic=True)

    def layer(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.relu(up(x, weight)).half()

    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for m, n, k in ((5, 7, 40), (64, 64, 64), (70, 10, 33)):
        x, weight = torch.randn(m, k).half(), torch.randn(n, k).half()
        torch.testing.assert_close(
            compiled(x, weight), torch.relu(x.float() @ weight.float().T).half(), rtol=1e-3, atol=1e-3
        )


def test_load_is_cheap_to_repeat() -> None:
    """The same file gives the same kernel, whoever loads it."""
    signature = "*f32 const, *f32 const, *f32, i32"
    assert load("basics.hsaco", "vector_add", signature) == load("basics.hsaco", "vector_add", signature)
