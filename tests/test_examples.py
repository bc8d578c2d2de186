"""Every kernel of examples/kernels, against torch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import warm_python
from catalog import BINARIES, CATALOG, SOURCES, Example, as_tuple, check_close, load
from catalog.gemm import gemm
from cuda_support import Compiler, compile_by
from requirements import does_not_apply
from simd_levels import own_level
from transformer import TOLERANCE, TORCH, WAVE, WIDTH, Block, Operations, cuda_kernels, operations

import wave_runtime

ROOT = Path(__file__).parent.parent
KERNELS = ROOT / "examples" / "kernels"

CASES = [pytest.param(example, size, id=f"{example.name}-{size}") for example in CATALOG for size in example.sizes]


@pytest.mark.parametrize(("example", "size"), CASES)
def test_against_torch(example: Example, size: tuple[int, ...]) -> None:
    example.check(*size)


@pytest.mark.parametrize("example", [example for example in CATALOG if example.tolerance], ids=lambda e: str(e.name))
def test_results_that_are_too_large_are_noticed(example: Example) -> None:
    """Tolerances tell a factor of a few percent from rounding."""
    results = as_tuple(example.reference(*example.inputs(*example.sizes[0])))
    for result in (result for result in results if result.is_floating_point()):
        check_close(result, result, example.tolerance, example.share)
        with pytest.raises(AssertionError):
            check_close(result * (1 + 1.2 * example.share), result, example.tolerance, example.share)


def test_every_kernel_of_the_folder_is_in_the_catalog() -> None:
    modules = {path.stem: wave_runtime.load(path) for path in BINARIES.glob("*.hsaco")}
    names = [name for stem, module in modules.items() for name in (module if len(module) > 1 else [stem])]
    assert sorted(names) == sorted(name for example in CATALOG for name in example.binaries or (example.name,))


def test_demo(tmp_path: Path) -> None:
    """What `make demo` runs, which calls each more often: it compares with torch and fails where results differ."""
    picture = tmp_path / "demo.png"
    words = ("examples/transformer.py", "--quick", "--picture", picture)
    done = warm_python.run(*words, imported=warm_python.COMPILER)
    assert done.returncode == 0, done.stdout + done.stderr
    for example in CATALOG:
        assert f"\n{example.name} " in done.stdout
    for model in ("in torch, eager", "on Wave kernels, eager", "on Wave kernels, torch.compile"):
        assert f"\nblock {model} " in done.stdout
    assert "All results equal torch's, within what is allowed" in done.stdout
    assert f"{os.path.relpath(sys.executable, ROOT)} -m wave_runtime profile" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
@pytest.mark.needs("clang")
@pytest.mark.parametrize("target", ["gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201"])
def test_demo_for_another_processor(target: str, tmp_path: Path) -> None:
    """`make demo TARGET=...`: the block on kernels that are compiled for it, and that the emulator runs as that."""
    command = [sys.executable, "examples/transformer.py", "--target", target, "--picture", tmp_path / "demo.png"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("rmsnorm", "linear", "attention_causal", "gemm", "linear_gelu"):
        assert f"\n{name} " in done.stdout
    assert f"\nblock on {target} kernels, torch.compile " in done.stdout
    assert "All results equal torch's" in done.stdout


def results_at(level: str | None, file: Path) -> list[torch.Tensor]:
    """What the last size of each example gives at a level of SIMD, which a process chooses once."""
    code = (
        "import sys, torch\n"
        "from catalog import CATALOG, as_tuple\n"
        "torch.manual_seed(0)\n"
        "results = [as_tuple(example.run(*example.inputs(*example.sizes[-1]))) for example in CATALOG]\n"
        "torch.save([tensor for result in results for tensor in result], sys.argv[1])\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{KERNELS}"}
    environment.pop("WAVE_RUNTIME_SIMD", None)
    if level is not None:
        environment["WAVE_RUNTIME_SIMD"] = level
    done = warm_python.run("-c", code, file, env=environment)
    if done.returncode != 0 and "this processor lacks it" in done.stderr:
        does_not_apply(f"this processor lacks {level}")
    assert done.returncode == 0, done.stderr
    results: list[torch.Tensor] = torch.load(file)
    return results


@pytest.fixture(scope="module")
def results_by_default(tmp_path_factory: pytest.TempPathFactory) -> list[torch.Tensor]:
    return results_at(None, tmp_path_factory.mktemp("results") / "default.pt")


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_simd_levels_give_the_same_bits(level: str, results_by_default: list[torch.Tensor], tmp_path: Path) -> None:
    if level == own_level():
        does_not_apply(f"{level} is the level that is taken by default here")
    results = results_at(level, tmp_path / "results.pt")
    different = [i for i, (a, b) in enumerate(zip(results, results_by_default, strict=True)) if not torch.equal(a, b)]
    assert different == []


def rebuilt(name: str, folder: Path) -> wave_runtime.Module:
    subprocess.run([sys.executable, KERNELS / "build.py", "--output", folder, name], check=True)
    return wave_runtime.load(folder / f"{name}.hsaco")


@pytest.mark.needs("clang-22")
def test_rebuilt_by_clang(tmp_path: Path) -> None:
    """Not the same bytes: those depend on clang's release."""
    assert rebuilt("basics", tmp_path).kernels == wave_runtime.load(BINARIES / "basics.hsaco").kernels
    kernel = load(str(tmp_path / "basics"), "*f32 const, *f32 const, *f32, i32", "vector_add")
    a, b, c = torch.randn(100), torch.randn(100), torch.zeros(100)
    kernel(a, b, c, 100, grid=1, block=128)
    assert torch.equal(c, a + b)


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("name", ["block", "training", "tiny_transformer"])
def test_cuda_sources_are_hip(name: str, tmp_path: Path) -> None:
    """The GPU's tests and those on the CPU then run the same source."""
    assert rebuilt(name, tmp_path).kernels == wave_runtime.load(BINARIES / f"{name}.hsaco").kernels


@pytest.mark.parametrize("name", ["block", "training", "tiny_transformer"])
@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_cuda_sources_are_cuda(compiler: Compiler, name: str, tmp_path: Path) -> None:
    cubin = compile_by(compiler, SOURCES / f"{name}.cu", "sm_90")
    for kernel in wave_runtime.load(BINARIES / f"{name}.hsaco"):
        assert b"\0.text." + kernel.encode() + b"\0" in cubin
    broken = tmp_path / "broken.cu"
    broken.write_text((SOURCES / f"{name}.cu").read_text() + "int a = b;")
    shutil.copy(SOURCES / "gpu.h", tmp_path)
    shutil.copy(SOURCES / "product.h", tmp_path)
    with pytest.raises(RuntimeError, match='identifier "b" is undefined'):
        compile_by(compiler, broken, "sm_90")


def test_a_model_of_kernels_compiles() -> None:
    up = gemm("gemm_f16_16x16x16", dynamic=True)

    def layer(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.relu(up(x, weight)).half()

    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for m, n, k in ((5, 7, 40), (64, 64, 64), (70, 10, 33)):
        x, weight = torch.randn(m, k).half(), torch.randn(n, k).half()
        torch.testing.assert_close(
            compiled(x, weight), torch.relu(x.float() @ weight.float().T).half(), rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("do", [WAVE, operations(cuda_kernels("cpu"))], ids=["wave", "cuda"])
def test_the_block_compiles_once_for_any_size(do: Operations) -> None:
    plain, ours = Block(TORCH), Block(do)
    ours.load_state_dict(plain.state_dict())
    compiled = torch.compile(ours, backend="aot_eager", dynamic=True, fullgraph=True)
    compiled(torch.randn(2, 33, WIDTH))
    with torch.compiler.set_stance("fail_on_recompile"):
        for batch, sequence in ((3, 128), (2, 65), (5, 7)):
            x = torch.randn(batch, sequence, WIDTH)
            check_close(compiled(x), plain(x), TOLERANCE)


@pytest.mark.parametrize("name", ["attention_backward_causal", "paged_decode", "moe_gemm_top2"])
def test_several_launches_compile(name: str) -> None:
    """Through autograd, or from one kernel to the next."""
    example = next(example for example in CATALOG if example.name == name)
    compiled = torch.compile(
        example.run, backend="aot_eager", dynamic=True, fullgraph=name != "attention_backward_causal"
    )
    for size in example.sizes[::2]:
        inputs = example.inputs(*size)
        for got, expected in zip(as_tuple(compiled(*inputs)), as_tuple(example.run(*inputs)), strict=True):
            assert torch.equal(got, expected)
