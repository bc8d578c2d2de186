"""CUDA (HIP) graphs with launches in them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from conformance_support import Driver
from torch._dynamo.utils import counters

import wave_runtime

pytestmark = pytest.mark.filterwarnings("default")  # Inductor has advice for each GPU.

Way = Callable[[wave_runtime.Kernel], Callable[..., None]]


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@contextmanager
def captured(graph: torch.cuda.CUDAGraph) -> Iterator[None]:
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        yield


def sha256_of(kernel: wave_runtime.Kernel) -> str:
    return kernel.handle.split("@")[1][:16]


def pinned(kernel: wave_runtime.Kernel) -> list[bool]:
    return [item.pinned for item in wave_runtime.loaded() if item.sha256.startswith(sha256_of(kernel))]


def test_replay(gpu: Driver, way: Way) -> None:
    kernel = gpu.load()["vector_add"]
    launch = way(kernel)
    a, b, c, d = (gpu.zeros(1000, torch.float32) for _ in range(4))
    launch(a, b, c, 1000, grid=4, block=256)
    graph = torch.cuda.CUDAGraph()
    with captured(graph):
        launch(a, b, c, 1000, grid=4, block=256)
        launch(c, b, d, 1000, grid=4, block=256)
    c.fill_(-1)
    d.fill_(-1)
    for _ in range(3):
        a.copy_(gpu.randn(1000))
        b.copy_(gpu.randn(1000))
        graph.replay()
        assert torch.equal(c, a + b)
        assert torch.equal(d, a + b + b)


def test_nothing_runs_while_it_is_captured(gpu: Driver) -> None:
    kernel = gpu.load()["take"]
    out = gpu.zeros(2)
    kernel.preload(gpu.device)
    graph = torch.cuda.CUDAGraph()
    with captured(graph):
        kernel(out, 1, 3, grid=1, block=64)
    gpu.synchronize()
    assert out.tolist() == [0, 0]
    graph.replay()
    assert out.tolist()[1] == 8


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
@pytest.mark.parametrize("preload", [True, False])
def test_the_first_launch_is_in_a_capture(gpu: Driver, preload: bool, mode: str) -> None:
    """The module is loaded while the capture is under way, unless it was before."""
    kernel = gpu.load_fresh()["take"]
    out = gpu.zeros(2)
    if preload:
        kernel.preload(gpu.device)
    assert pinned(kernel) == ([False] if preload else [])
    graph = torch.cuda.CUDAGraph()
    gpu.synchronize()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        kernel(out, 2, 3, grid=1, block=64)
    assert pinned(kernel) == [True]
    for i in range(3):
        graph.replay()
        assert out.tolist() == [5 + 2 * i, 8]


def test_shared_memory_beyond_the_default_in_a_capture(gpu: Driver) -> None:
    """The opt-in happens inside of the capture."""
    kernel = gpu.load_fresh()["reverse_dynamic"]
    size = min(100 * 1024, int(gpu.description["shared_memory"]))  # type: ignore[call-overload]
    a = torch.arange(size // 4, dtype=torch.int32, device=gpu.device)
    b = torch.zeros_like(a)
    graph = torch.cuda.CUDAGraph()
    with captured(graph):
        kernel(a, b, a.numel(), grid=1, block=1024, shared_memory=size)
    graph.replay()
    assert torch.equal(b, a.flip(0))


def test_launch_options_in_a_capture(gpu: Driver) -> None:
    module = gpu.load()
    a, total, arrived, out = gpu.ints(*range(8)), gpu.zeros(1), gpu.zeros(1), gpu.zeros(8)
    module["sum_over_grid"].preload(gpu.device)
    graph = torch.cuda.CUDAGraph()
    with captured(graph):
        total.zero_()
        arrived.zero_()
        module["sum_over_grid"](a, total, arrived, out, 8, grid=8, block=64, cooperative=True)
    for i in range(2):
        a.fill_(i + 1)
        graph.replay()
        assert out.tolist() == [8 * (i + 1)] * 8


def test_sequences_in_a_capture(gpu: Driver) -> None:
    kernel = gpu.load()["slow_increment"]
    tensors = [gpu.zeros(100) for _ in range(9)]
    sequence = wave_runtime.sequence(
        [kernel.bind(a, b, 100, 0, grid=2, block=64) for a, b in zip(tensors, tensors[1:], strict=False)]
    )
    sequence()
    graph = torch.cuda.CUDAGraph()
    with captured(graph):
        sequence()
    tensors[0].fill_(10)
    graph.replay()
    assert tensors[-1].tolist() == [18] * 100


@pytest.mark.parametrize("by", ["unload", "garbage collection"])
def test_graphs_keep_modules(gpu: Driver, by: str) -> None:
    module = gpu.load_fresh()
    kernel = module["take"]
    sha256 = sha256_of(kernel)
    out = gpu.zeros(2)
    graph = torch.cuda.CUDAGraph()
    with captured(graph):
        kernel(out, 1, 3, grid=1, block=64)
    if by == "unload":
        assert module.unload() == 0
    else:
        del kernel, module
        gc.collect()
    assert [item.pinned for item in wave_runtime.loaded() if item.sha256.startswith(sha256)] == [True]
    for i in range(3):
        graph.replay()
        assert out.tolist() == [5 + i, 8]


def test_unloading_another_module_during_a_capture(gpu: Driver) -> None:
    other, kernel = gpu.load_fresh(), gpu.load()["take"]
    out = gpu.zeros(2)
    other["take"](out, 1, 0, grid=1, block=64)
    kernel.preload(gpu.device)
    graph = torch.cuda.CUDAGraph()
    with captured(graph):
        kernel(out, 1, 4, grid=1, block=64)
        assert other.unload() == 1
        kernel(out, 1, 5, grid=1, block=64)
    graph.replay()
    assert out.tolist()[1] == 32


def test_a_thread_launches_while_another_captures(gpu: Driver) -> None:
    import threading

    kernel = gpu.load()["slow_increment"]
    kernel.preload(gpu.device)
    a, b, c, d = (gpu.zeros(100) for _ in range(4))
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    gpu.synchronize()

    def work() -> None:
        with torch.cuda.stream(side):
            kernel(c, d, 100, 0, grid=2, block=64)

    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        kernel(a, b, 100, 0, grid=2, block=64)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    side.synchronize()
    assert d.tolist() == [1] * 100
    assert b.tolist() == [0] * 100
    graph.replay()
    assert b.tolist() == [1] * 100


def test_reduce_overhead(gpu: Driver) -> None:
    kernel = gpu.load()["vector_add"]

    def double(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernel(x, x, out, x.numel(), grid=-(-x.numel() // 256), block=256)
        return out * 1.5

    counters.clear()
    compiled = torch.compile(double, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        x = gpu.randn(1000)
        assert torch.equal(compiled(x), x * 3)
    assert counters["inductor"]["cudagraph_skips"] == 0
