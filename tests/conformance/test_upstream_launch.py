"""Launches through upstream's interface, on every driver: tests/upstream/test_contract.py has the contract."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import torch
from conformance_support import Driver
from requirements import does_not_apply, need

import wave_runtime
from wave_runtime import Int64Vector, KernelLaunchInfo, launch


@pytest.fixture
def binary(driver: Driver, tmp_path: Path) -> Path:
    path = tmp_path / "kernels.bin"
    path.write_bytes(driver.fresh_binary()[0])
    return path


def operands(driver: Driver) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return driver.randn(1000), driver.randn(1000), driver.zeros(1000, torch.float32)


def test_addresses_and_tensors(driver: Driver, binary: Path) -> None:
    wave_runtime.load_hip_functions()
    capsule, function = wave_runtime.load_binary(str(binary), "vector_add")
    a, b, c = operands(driver)
    for tensors in ([a, b, c], [t.data_ptr() for t in (a, b, c)], Int64Vector([t.data_ptr() for t in (a, b, c)])):
        for stream in (None, torch.cuda.current_stream().cuda_stream if driver.is_gpu else 0):
            c.zero_()
            info = KernelLaunchInfo(gpu_stream=stream, gpu_func=function, gridX=4, blockX=256)
            launch(info, tensors, [], [1000])
            driver.synchronize()
            assert torch.equal(c, a + b)
    del capsule


def test_dynamic_shared_memory(driver: Driver, binary: Path) -> None:
    """sharedMemoryBytes is what a workgroup has at least, beyond what the kernel declares."""
    capsule, function = wave_runtime.load_binary(str(binary), "reverse_dynamic")
    a, b = driver.ints(*range(64)), driver.zeros(64)
    launch(KernelLaunchInfo(gpu_func=function, blockX=64, sharedMemoryBytes=256), [a, b], [], [64])
    driver.synchronize()
    assert b.tolist() == list(range(63, -1, -1))
    del capsule


def test_shared_memory_beyond_the_device_of_a_kernel_that_declares_its_own(driver: Driver, binary: Path) -> None:
    """Compilers count before they let allocations share memory. Upstream passes 0, and launches."""
    capsule, function = wave_runtime.load_binary(str(binary), "reverse_static")
    a, b = driver.ints(*range(256)), driver.zeros(256)
    info = KernelLaunchInfo(gpu_func=function, blockX=256, sharedMemoryBytes=1 << 30)
    launch(info, [a, b], [], [])
    driver.synchronize()
    assert b.tolist() == list(range(255, -1, -1))
    del capsule


def test_capsule_keeps_the_code_loaded(driver: Driver, binary: Path) -> None:
    """On a GPU from load_binary on; once it is gone, a launch loads it again."""
    sha256 = {item.sha256 for item in wave_runtime.loaded()}
    capsule, function = wave_runtime.load_binary(str(binary), "vector_add")
    a, b, c = operands(driver)
    info = KernelLaunchInfo(gpu_func=function, gridX=4, blockX=256)
    launch(info, [a, b, c], [], [1000])
    (mine,) = {item.sha256 for item in wave_runtime.loaded()} - sha256
    driver.synchronize()
    del capsule
    gc.collect()
    assert mine not in {item.sha256 for item in wave_runtime.loaded()}
    c.zero_()
    launch(info, [a, b, c], [], [1000])
    driver.synchronize()
    assert torch.equal(c, a + b)


def test_errors_of_the_driver_are_worded_as_upstreams(driver: Driver, binary: Path) -> None:
    if driver.name != "hip-emulator":
        does_not_apply("a stream that is none brings other libraries down")
    capsule, function = wave_runtime.load_binary(str(binary), "vector_add")
    info = KernelLaunchInfo(gpu_stream=0x1230, gpu_func=function, gridX=4, blockX=256)
    with pytest.raises(RuntimeError, match=r"^Error \d+\(hipError\w+\) \S+:\d+: \nhip\w+\n.+\n"):
        launch(info, list(operands(driver)), [], [1000])
    del capsule


def test_streams_and_graphs(gpu: Driver, tmp_path: Path) -> None:
    path = tmp_path / "kernels.bin"
    path.write_bytes(gpu.fresh_binary()[0])
    capsule, function = wave_runtime.load_binary(str(path), "vector_add")
    a, b, c = operands(gpu)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())  # where the operands are filled
    with torch.cuda.stream(stream):
        info = KernelLaunchInfo(stream.cuda_stream, function, 0, 4, 1, 1, 256, 1, 1, 0, 0, 0)
        launch(info, Int64Vector([t.data_ptr() for t in (a, b, c)]), Int64Vector([]), [1000])
    stream.synchronize()
    assert torch.equal(c, a + b)
    graph = torch.cuda.CUDAGraph()
    c.zero_()
    with torch.cuda.graph(graph):
        launch(KernelLaunchInfo(gpu_func=function, gridX=4, blockX=256), [a, b, c], [], [1000])
    graph.replay()
    gpu.synchronize()
    assert torch.equal(c, a + b)
    del capsule


def test_several_devices(gpu: Driver, tmp_path: Path) -> None:
    """A function launches on the current device, and on that of tensors, wherever it was loaded first."""
    need("two-gpus")
    path = tmp_path / "kernels.bin"
    path.write_bytes(gpu.fresh_binary()[0])
    capsule, function = wave_runtime.load_binary(str(path), "vector_add")
    a, b, c = (tensor.to("cuda:1") for tensor in operands(gpu))
    info = KernelLaunchInfo(gpu_func=function, gridX=4, blockX=256)
    launch(info, [a, b, c], [], [1000])
    torch.cuda.synchronize(1)
    assert torch.equal(c, a + b)
    c.zero_()
    with torch.cuda.device(1):
        launch(info, [t.data_ptr() for t in (a, b, c)], [], [1000])
    torch.cuda.synchronize(1)
    assert torch.equal(c, a + b)
    del capsule
