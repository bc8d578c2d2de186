"""Operators by define_op on every driver: eager, compiled, differentiated, in CUDA graphs, and with several kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conformance_support import Driver
from torch import Tensor
from torch._dynamo.utils import counters

import wave_runtime
from wave_runtime import cdiv

pytestmark = pytest.mark.filterwarnings("default")  # Inductor has advice for each GPU.


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def add(driver: Driver) -> wave_runtime.Operator:
    return define_add(driver)


def define_add(driver: Driver) -> wave_runtime.Operator:
    """A + B and its derivative."""
    kernel = driver.load()["vector_add"]

    @wave_runtime.define_op(f"conformance::sum_on_{driver.name.replace('-', '_')}")
    def add(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        kernel(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)
        return c

    @add.register_backward
    def _(grad: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        grad = grad.contiguous()
        return add(grad, torch.zeros_like(grad)), grad

    return add


def test_eager(driver: Driver, add: wave_runtime.Operator) -> None:
    a, b = driver.randn(500), driver.randn(500)
    assert torch.equal(add(a, b), a + b)
    assert torch.equal(add.overload(a, b), a + b)


def test_opcheck(driver: Driver, add: wave_runtime.Operator) -> None:
    a, b = driver.randn(500).requires_grad_(), driver.randn(500).requires_grad_()
    torch.library.opcheck(add.overload, (a, b))


def test_compiled_gradients(driver: Driver, add: wave_runtime.Operator) -> None:
    a, b = driver.randn(500).requires_grad_(), driver.randn(500)
    compiled = torch.compile(lambda a, b: (add(a * 2, b) * 3).sum(), fullgraph=True)
    compiled(a, b).backward()
    assert a.grad is not None
    assert torch.equal(a.grad, torch.full_like(a, 6.0))


def test_variants(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path))
    kernel = driver.load()["vector_add"]

    def launch(a: Tensor, b: Tensor, c: Tensor) -> None:
        kernel(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)

    def launch_often(a: Tensor, b: Tensor, c: Tensor) -> None:
        for _ in range(100):
            kernel(a, b, c, a.numel(), grid=cdiv(a.numel(), 64), block=64)

    variants = wave_runtime.variants(launch_often, launch)
    a, b, c = driver.randn(500), driver.randn(500), driver.zeros(500, torch.float32)
    variants(a, b, c)
    assert torch.equal(c, a + b)
    assert len(list((tmp_path / "variants").rglob("*.json"))) == 2
    blocks = []
    with wave_runtime.hooks.launch_hook(enter=lambda event: blocks.append(event.block[0])):
        wave_runtime.variants(launch_often, launch)(a, b, c)
    assert blocks == [256]


def test_reduce_overhead(gpu: Driver) -> None:
    add = define_add(gpu)
    counters.clear()
    compiled = torch.compile(lambda a, b: add(a * 2, b) * 3, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        a, b = gpu.randn(1000), gpu.randn(1000)
        torch.testing.assert_close(compiled(a, b), (a * 2 + b) * 3)
    assert counters["inductor"]["cudagraph_skips"] == 0


def test_nothing_is_measured_in_a_capture(gpu: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first launch is captured; once the times are known, the fastest."""
    monkeypatch.setenv("WAVE_RUNTIME_CACHE_DIR", str(tmp_path))
    kernel = gpu.load()["vector_add"]
    kernel.preload(gpu.device)

    def slow(a: Tensor, b: Tensor, c: Tensor) -> None:
        for _ in range(100):
            kernel(a, b, c, a.numel(), grid=cdiv(a.numel(), 64), block=64)

    def fast(a: Tensor, b: Tensor, c: Tensor) -> None:
        kernel(a, b, c, a.numel(), grid=cdiv(a.numel(), 256), block=256)

    variants = wave_runtime.variants(slow, fast)
    a, b, c = gpu.randn(1000), gpu.randn(1000), gpu.zeros(1000, torch.float32)
    blocks: list[int] = []
    for expected in ([64] * 100, [256]):
        blocks.clear()
        graph = torch.cuda.CUDAGraph()
        gpu.synchronize()
        with wave_runtime.hooks.launch_hook(enter=lambda event: blocks.append(event.block[0])), torch.cuda.graph(graph):
            variants(a, b, c)
        assert blocks == expected
        c.zero_()
        graph.replay()
        assert torch.equal(c, a + b)
        variants(a, b, c)
