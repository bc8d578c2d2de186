"""Streams, devices and threads, on GPUs: nothing is synchronised by a launch, and what depends on it comes after it."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable

import pytest
import torch
from conformance_support import Driver, Way
from requirements import need

import wave_runtime

CYCLES = 200_000_000  # a tenth of a second or so
N = 1000


def increment(way: Callable[..., None], a: torch.Tensor, b: torch.Tensor, cycles: int = 0) -> None:
    way(a, b, a.numel(), cycles, grid=-(-a.numel() // 64), block=64)


def happens(attempt: Callable[[], bool]) -> bool:
    """Whether it does at one of several attempts: this process may have to wait for longer than its kernel runs."""
    return any(attempt() for _ in range(5))


@pytest.fixture
def kernel(gpu: Driver) -> wave_runtime.Kernel:
    """Loaded: loading may take its time."""
    kernel = gpu.load()["slow_increment"]
    kernel.preload(gpu.device)
    return kernel


def test_launches_do_not_wait(gpu: Driver, kernel: wave_runtime.Kernel, way: Way) -> None:
    a, b, c = gpu.zeros(N), gpu.zeros(N), gpu.zeros(N)
    launch = way(kernel)
    increment(launch, a, b)  # whatever happens at the first launch
    gpu.synchronize()

    def returns_before_it_ends() -> bool:
        increment(launch, a, b, CYCLES)
        increment(launch, b, c)
        return not torch.cuda.current_stream().query()

    assert happens(returns_before_it_ends)
    assert c.tolist() == [2] * N


def test_the_current_stream(gpu: Driver, kernel: wave_runtime.Kernel, way: Way) -> None:
    """A kernel runs on the stream that is current at the call, while another one is busy."""
    a, b, c, d = (gpu.zeros(N) for _ in range(4))
    launch = way(kernel)
    increment(launch, a, b)
    busy, other = torch.cuda.Stream(), torch.cuda.Stream()
    gpu.synchronize()

    def overtakes() -> bool:
        with torch.cuda.stream(other):
            d.zero_()
        with torch.cuda.stream(busy):
            increment(launch, a, b, 10 * CYCLES)
        with torch.cuda.stream(other):
            increment(launch, c, d)
            assert d.tolist() == [1] * N
        return not busy.query()

    assert happens(overtakes)
    busy.synchronize()
    assert b.tolist() == [1] * N


def test_a_named_stream(gpu: Driver, kernel: wave_runtime.Kernel) -> None:
    """A kernel runs on the stream that the call names, and not on the current one, which is free."""
    a, b, c = gpu.zeros(N), gpu.zeros(N), gpu.zeros(N)
    busy = torch.cuda.Stream()
    bound = kernel.bind(a, c, N, CYCLES, grid=16, block=64, stream=busy.cuda_stream)
    gpu.synchronize()

    def is_busy() -> bool:
        kernel(a, b, N, CYCLES, grid=16, block=64, stream=busy)
        bound()
        return torch.cuda.current_stream().query() and not busy.query()

    assert happens(is_busy)
    busy.synchronize()
    assert b.tolist() == c.tolist() == [1] * N


def test_arrays_of_other_libraries(gpu: Driver, kernel: wave_runtime.Kernel) -> None:
    class Array:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    a, b = gpu.zeros(N), gpu.zeros(N)
    kernel(Array(a), Array(b), N, 0, grid=16, block=64)
    assert b.tolist() == [1] * N


def test_bound_launches_follow_the_current_stream(gpu: Driver, kernel: wave_runtime.Kernel) -> None:
    a, b = gpu.zeros(N), gpu.zeros(N)
    bound = kernel.bind(a, b, N, CYCLES, grid=16, block=64)
    sequence = wave_runtime.sequence([bound])
    stream = torch.cuda.Stream()
    gpu.synchronize()
    for launch in (bound, sequence):

        def runs_there(launch: Callable[[], None] = launch) -> bool:
            with torch.cuda.stream(stream):
                launch()
            is_busy = not stream.query()
            assert torch.cuda.current_stream().query()
            stream.synchronize()
            return is_busy

        assert happens(runs_there)


def test_events(gpu: Driver, kernel: wave_runtime.Kernel, way: Way) -> None:
    a, b, c = gpu.zeros(N), gpu.zeros(N), gpu.zeros(N)
    launch = way(kernel)
    producer, consumer, ready = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()

    def waits() -> bool:
        b.zero_()
        gpu.synchronize()
        with torch.cuda.stream(producer):
            increment(launch, a, b, CYCLES)
            ready.record()
        is_busy = not ready.query()
        with torch.cuda.stream(consumer):
            consumer.wait_event(ready)
            increment(launch, b, c)
        consumer.synchronize()
        assert ready.query()
        assert c.tolist() == [2] * N
        return is_busy

    assert happens(waits)


def test_order_with_torch(gpu: Driver, kernel: wave_runtime.Kernel, way: Way) -> None:
    a, b = gpu.zeros(N), gpu.zeros(N)
    launch = way(kernel)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        for i in range(20):
            a.fill_(i)
            increment(launch, a, b, CYCLES // 100)
            a.copy_(b)
        assert a.tolist() == [20] * N


def test_streams_with_priorities_and_external_ones(gpu: Driver, kernel: wave_runtime.Kernel) -> None:
    a, b = gpu.zeros(N), gpu.zeros(N)
    gpu.synchronize()
    high = torch.cuda.Stream(priority=-1)
    external = torch.cuda.ExternalStream(high.cuda_stream)
    for stream in (high, external):
        b.zero_()
        gpu.synchronize()
        with torch.cuda.stream(stream):
            increment(kernel, a, b)
        stream.synchronize()
        assert b.tolist() == [1] * N


def run_in_threads(count: int, work: Callable[[int], None]) -> None:
    errors: list[str] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            errors.append(f"thread {index}: {error!r}")

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_threads_that_never_touched_cuda(gpu: Driver) -> None:
    """The launch is the first thing that such a thread does with the device, the loading included."""
    pairs = [(gpu.zeros(N), gpu.zeros(N)) for _ in range(4)]
    gpu.synchronize()
    for fresh in (True, False):
        module = gpu.load_fresh() if fresh else gpu.load()
        kernel = module["slow_increment"]
        run_in_threads(4, lambda i, kernel=kernel: increment(kernel, *pairs[i]))  # type: ignore[misc]
        gpu.synchronize()
        assert all(b.tolist() == [1] * N for _, b in pairs)


def test_a_stream_for_each_thread(gpu: Driver, kernel: wave_runtime.Kernel) -> None:
    def work(index: int) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            a, b = gpu.zeros(N), gpu.zeros(N)
            for i in range(100):
                a.fill_(index * 1000 + i)
                increment(kernel, a, b)
                a.copy_(b)
            assert a.tolist() == [index * 1000 + 100] * N

    run_in_threads(8, work)


def test_several_threads_launch_one_kernel(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    launch = way(module["vector_add"])
    a = driver.randn(256)
    launch(a, a, driver.zeros(256, torch.float32), 256, grid=1, block=256)

    def work(index: int) -> None:
        out = driver.zeros(256, torch.float32)
        b = torch.full_like(a, index)
        for _ in range(100):
            out.zero_()
            launch(a, b, out, 256, grid=1, block=256)
            assert torch.equal(out, a + b)

    run_in_threads(4, work)


def test_whatever_thread_changes_a_bound_launch(driver: Driver, module: wave_runtime.Module) -> None:
    """A launch takes the arguments of before or after the change, never some of both."""
    out = driver.zeros(400)
    values = [struct.pack("<400i", *[value] * 400) for value in (1, 2)]
    bound = module["copy_large"].bind(out, values[0], grid=1, block=64)
    done = threading.Event()
    seen: list[set[int]] = []

    def work(index: int) -> None:
        if index == 0:
            while not done.is_set():
                for value in values:
                    bound["large"] = value
            return
        try:
            while len(seen) < 500 or {1} not in seen or {2} not in seen:  # a launch may keep the interpreter to itself
                bound()
                seen.append(set(out.tolist()))
        finally:
            done.set()

    run_in_threads(2, work)
    assert {frozenset(found) for found in seen} == {frozenset([1]), frozenset([2])}


@pytest.mark.parametrize("current", [0, 1])
def test_another_device_is_current(gpu: Driver, way: Way, current: int) -> None:
    need("two-gpus")
    launch = way(gpu.load_fresh()["slow_increment"])
    with torch.cuda.device(current):
        for device in ("cuda:0", "cuda:1", "cuda:0"):
            a = torch.zeros(N, dtype=torch.int32, device=device)
            b = torch.zeros_like(a)
            increment(launch, a, b, CYCLES // 10)
            assert torch.cuda.current_device() == current
            assert b.tolist() == [1] * N


def test_symbols_of_two_devices(gpu: Driver) -> None:
    need("two-gpus")
    module = gpu.load_fresh()
    counters = [module.symbol("counter", device=i, dtype=torch.int32) for i in range(2)]
    counters[1].fill_(70)
    torch.cuda.synchronize(1)
    for i, expected in enumerate((5, 70)):
        out = torch.zeros(2, dtype=torch.int32, device=f"cuda:{i}")
        module["take"](out, 1, 0, grid=1, block=64)
        assert out.tolist() == [expected, 1]
    assert [counter.tolist() for counter in counters] == [[6], [71]]
