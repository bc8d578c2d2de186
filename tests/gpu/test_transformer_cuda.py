"""The kernels of the .cu files on an NVIDIA GPU, and the demo's block made of them, against torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest
import torch
from catalog import SOURCES, Example, block, check_close, tiny_transformer, training
from cuda_support import Compiler, compile_by
from support import ROOT
from torch._dynamo.utils import counters
from transformer import TOLERANCE, TORCH, WIDTH, Block, captured, cuda_kernels, operations

import wave_runtime

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.needs("cuda", "cuda-compiler"),
    pytest.mark.filterwarnings("default"),  # Inductor has advice for each GPU.
]

Model = Callable[[torch.Tensor], torch.Tensor]

CASES = [
    pytest.param(example.name, size, id=f"{example.name}-{size}")
    for example in (*block.EXAMPLES, *training.EXAMPLES, *tiny_transformer.examples())
    for size in example.sizes
]
SHAPES = ((2, 128), (1, 1), (3, 65), (4, 200))  # batch and sequence


@cache
def examples_on_gpu() -> dict[str, Example]:
    modules = (block, training, tiny_transformer)
    return {example.name: example for module in modules for example in module.examples("cuda")}


@pytest.mark.parametrize(("name", "size"), CASES)
def test_kernel(name: str, size: tuple[int, ...]) -> None:
    examples_on_gpu()[name].check(*size, device="cuda")


@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_compilers(compiler: Compiler) -> None:
    major, minor = torch.cuda.get_device_capability()
    cubin = compile_by(compiler, SOURCES / "block.cu", f"sm_{major}{minor}")
    module = wave_runtime.load(cubin, signature=block.SIGNATURES)
    assert set(module.kernels) == set(block.SIGNATURES)
    a, b = torch.randn(70, 40).half().cuda(), torch.randn(90, 40).half().cuda()
    torch.testing.assert_close(block.gemm(module["gemm"])(a, b), a.float() @ b.float().T, rtol=0, atol=1e-3)


@cache
def blocks() -> tuple[Model, Model]:
    """The block in torch, and on CUDA kernels with the same weights."""
    torch.manual_seed(0)
    plain, ours = Block(TORCH).cuda(), Block(operations(cuda_kernels("cuda"))).cuda()
    ours.load_state_dict(plain.state_dict())
    return plain, ours


def check(model: Model, *shape: int) -> None:
    """Several inputs: what a graph holds on to must not stay."""
    plain, _ = blocks()
    for _ in range(4):
        x = torch.randn(*shape, WIDTH, device="cuda")
        check_close(model(x), plain(x), TOLERANCE)


@pytest.mark.parametrize("shape", SHAPES)
def test_block_eager(shape: tuple[int, int]) -> None:
    check(blocks()[1], *shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_block_on_another_stream(shape: tuple[int, int]) -> None:
    with torch.cuda.stream(torch.cuda.Stream()):
        check(blocks()[1], *shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_block_in_a_captured_graph(shape: tuple[int, int]) -> None:
    check(captured(blocks()[1], torch.randn(*shape, WIDTH, device="cuda")), *shape)


def test_block_compiled() -> None:
    compiled = torch.compile(blocks()[1], fullgraph=True, dynamic=True)
    check(compiled, *SHAPES[0])
    with torch.compiler.set_stance("fail_on_recompile"):
        for shape in SHAPES[2:]:
            check(compiled, *shape)


def test_block_compiled_to_cuda_graphs() -> None:
    counters.clear()
    compiled = torch.compile(blocks()[1], fullgraph=True, mode="reduce-overhead")
    for shape in SHAPES[:2]:
        check(compiled, *shape)
    assert counters["inductor"]["cudagraph_skips"] == 0


def test_demo(tmp_path_factory: pytest.TempPathFactory) -> None:
    picture = tmp_path_factory.mktemp("demo") / "demo.png"
    command = [sys.executable, "examples/transformer.py", "--device", "cuda", "--picture", picture]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for way in ("eager", "torch.compile", "reduce-overhead", "CUDA graph"):
        assert f"\nblock on CUDA kernels, {way} " in done.stdout
