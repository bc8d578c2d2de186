"""Launch hooks and profiler ranges on every driver and on every way to launch."""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable

import pytest
import torch
from conformance_support import Driver, Way
from torch.profiler import ProfilerActivity, profile

import wave_runtime
from wave_runtime.hooks import LaunchEvent, launch_hook


def test_a_hook_is_a_function() -> None:
    """Each launch of the process would fail else."""
    for option in ("enter", "exit"):
        with pytest.raises(TypeError, match=f"launch_hook: {option}= must be a function of a LaunchEvent, given int"):
            launch_hook(**{option: 5})  # type: ignore[arg-type]


def test_events(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    kernel = module["vector_add"]
    a, b, c = driver.randn(100), driver.randn(100), driver.zeros(100, torch.float32)
    events: list[tuple[str, LaunchEvent]] = []
    launch = way(kernel)
    enter, leave = (lambda e: events.append(("enter", e))), (lambda e: events.append(("exit", e)))
    with launch_hook(enter=enter, exit=leave):
        launch(a, b, c, 100, grid=(2, 1, 1), block=(64, 1), shared_memory=128)
    launch(a, b, c, 100, grid=(2, 1, 1), block=(64, 1), shared_memory=128)  # no hook any more
    stream = torch.cuda.current_stream().cuda_stream if driver.is_gpu else 0
    arguments = (a.data_ptr(), b.data_ptr(), c.data_ptr(), 100)
    event = LaunchEvent("vector_add", kernel.handle, driver.place, (2, 1, 1), (64, 1, 1), 128, stream, arguments)
    assert events == [("enter", event), ("exit", event)]
    assert all(type(event) is LaunchEvent for _, event in events)


def test_arguments_are_decoded_exactly(driver: Driver, module: wave_runtime.Module) -> None:
    mixed = struct.pack("<fh2xd3b5x", 1.5, -7, 2.5, 1, 2, 3)
    values = (-128, 255, -300, 60000, -70000, 4000000000, -(2**40), 2**64 - 1, True, 0.5, 1.25, 0.1, mixed)
    out = driver.zeros(128, torch.uint8)
    seen: list[LaunchEvent] = []
    with launch_hook(enter=seen.append):
        module["store_scalars"](out, *values, grid=1, block=64)
    assert seen[0].arguments == (out.data_ptr(), *values)


def test_order_of_hooks(driver: Driver, module: wave_runtime.Module) -> None:
    seen: list[str] = []

    def recorder(name: str) -> Callable[[LaunchEvent], None]:
        return lambda event: seen.append(f"{name} {event.kernel}")

    out = driver.zeros(2)
    first = launch_hook(enter=recorder("enter 1"), exit=recorder("exit 1"))
    second = launch_hook(enter=recorder("enter 2"))
    third = launch_hook(exit=recorder("exit 3"))
    try:
        module["take"](out, 1, 0, grid=1, block=64)
        assert seen == [f"{what} take" for what in ("enter 1", "enter 2", "exit 1", "exit 3")]
        seen.clear()
        first.remove()
        first.remove()
        module["take"](out, 1, 0, grid=1, block=64)
        assert seen == ["enter 2 take", "exit 3 take"]
    finally:
        for hook in (first, second, third):
            hook.remove()


def test_an_exception_in_enter_ends_the_launch(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    out, ended = driver.zeros(2), []

    def refuse(event: LaunchEvent) -> None:
        raise LookupError(f"no {event.kernel} today")

    with (
        launch_hook(enter=refuse),
        launch_hook(exit=ended.append),
        pytest.raises(LookupError, match="no take today"),
    ):
        way(module["take"])(out, 1, 0, grid=1, block=64)
    assert out.tolist() == [0, 0]
    assert ended == []


def test_an_exception_in_exit(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    def refuse(event: LaunchEvent) -> None:
        raise LookupError("too late")

    out = driver.zeros(2)
    with launch_hook(exit=refuse), pytest.raises(LookupError, match="too late"):
        way(module["take"])(out, 1, 3, grid=1, block=64)
    assert out.tolist()[1] == 8


def test_hooks_see_no_launch_that_was_refused(driver: Driver, module: wave_runtime.Module) -> None:
    seen: list[LaunchEvent] = []
    with launch_hook(enter=seen.append, exit=seen.append), pytest.raises(ValueError, match="below 1"):
        module["take"](driver.zeros(2), 1, 0, grid=0, block=64)
    assert seen == []


def test_hooks_that_launch(driver: Driver, module: wave_runtime.Module) -> None:
    depth: list[str] = []
    inner = driver.zeros(2)

    def again(event: LaunchEvent) -> None:
        depth.append(event.kernel)
        if event.kernel == "take":
            module["cluster_rank"](inner, grid=2, block=64)

    with launch_hook(enter=again):
        module["take"](driver.zeros(2), 1, 0, grid=1, block=64)
    assert depth == ["take", "cluster_rank"]


def test_hooks_that_remove_themselves(driver: Driver, module: wave_runtime.Module) -> None:
    seen: list[LaunchEvent] = []

    def once(event: LaunchEvent) -> None:
        seen.append(event)
        hook.remove()

    hook = launch_hook(enter=once)
    for _ in range(2):
        module["take"](driver.zeros(2), 1, 0, grid=1, block=64)
    assert len(seen) == 1


def test_sequences_call_hooks_for_each_launch(driver: Driver, module: wave_runtime.Module) -> None:
    out = driver.zeros(2)
    bound = module["take"].bind(out, 1, 0, grid=1, block=64)
    seen: list[LaunchEvent] = []
    with launch_hook(enter=seen.append, exit=seen.append):
        wave_runtime.sequence([bound] * 3)()
    assert len(seen) == 6


def test_unloading_in_a_hook_is_refused(driver: Driver) -> None:
    module = driver.load_fresh()
    with (
        launch_hook(enter=lambda event: module.unload()),
        pytest.raises(RuntimeError, match=r"unload\(\) inside a launch"),
    ):
        module["take"](driver.zeros(2), 1, 0, grid=1, block=64)
    assert module.unload() == 1


def test_garbage_collection_in_a_hook(driver: Driver) -> None:
    """Modules that nobody holds any more go when no launch is under way."""
    modules = [driver.load_fresh()]
    kernels = [modules[0]["take"]]
    out = driver.zeros(2)

    def drop(event: LaunchEvent) -> None:
        modules.clear()
        kernels.clear()
        gc.collect()

    with launch_hook(enter=drop):
        launch = kernels[0]
        launch(out, 1, 0, grid=1, block=64)
    assert out.tolist() == [5, 1]
    sha256 = launch.handle.split("@")[1][:16]
    del launch
    gc.collect()
    assert not any(item.sha256.startswith(sha256) for item in wave_runtime.loaded())


def ranges_of(profiler: profile) -> list[str]:
    return [event.name for event in profiler.events() if event.name.startswith("wave::launch/")]


def test_profiler_ranges(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    out = driver.zeros(2)
    launch = way(module["take"])
    launch(out, 1, 0, grid=1, block=64)
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        launch(out, 1, 0, grid=1, block=64)
        launch(out, 1, 0, grid=1, block=64)
    assert ranges_of(profiler) == ["wave::launch/take"] * 2
    launch(out, 1, 0, grid=1, block=64)
    assert out.tolist()[1] == 1
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        pass
    assert ranges_of(profiler) == []


def test_profiler_ranges_of_a_sequence(driver: Driver, module: wave_runtime.Module) -> None:
    out = driver.zeros(4)
    bound = [
        module["take"].bind(out, 1, 0, grid=1, block=64),
        module["cluster_rank"].bind(out, grid=2, block=64),
    ]
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        wave_runtime.sequence(bound)()
    assert ranges_of(profiler) == ["wave::launch/take", "wave::launch/cluster_rank"]


@pytest.mark.filterwarnings("default")
def test_profiler_sees_kernels_of_the_gpu(gpu: Driver) -> None:
    out = gpu.zeros(2)
    kernel = gpu.load()["take"]
    kernel(out, 1, 0, grid=1, block=64)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as profiler:
        kernel(out, 1, 0, grid=1, block=64)
        gpu.synchronize()
    names = [event.name for event in profiler.events()]
    assert "wave::launch/take" in names
    assert "take" in names
