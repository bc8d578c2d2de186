"""Grid, block, shared memory and the other launch options on every driver."""

from __future__ import annotations

import re

import pytest
import torch
from conformance_support import Driver, Launch, Way
from requirements import does_not_apply

import wave_runtime

KIB = 1024


def launch(driver: Driver, kernel: wave_runtime.Kernel, **options: object) -> None:
    tensor = driver.zeros(64, torch.float32)
    kernel(driver.randn(64), driver.randn(64), tensor, 64, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"block": 64}, TypeError, r"grid= is missing \(it counts workgroups\)"),
        ({"grid": 1}, TypeError, "block= is missing: the binary fixes no workgroup size"),
        ({"grid": 0, "block": 64}, ValueError, r"grid \(0, 1, 1\) has an extent below 1"),
        ({"grid": 1, "block": (64, 0)}, ValueError, r"block \(64, 0, 1\) has an extent below 1"),
        ({"grid": (1, 1, 1, 1), "block": 64}, ValueError, "grid must be an int or 1 to 3 ints, given 4"),
        ({"grid": 1.5, "block": 64}, TypeError, "grid: expected an int, given float"),
        ({"grid": 2**70, "block": 64}, ValueError, "grid: 1180591620717411303424 does not fit in 64 bits"),
        ({"grid": 1, "block": 1025}, ValueError, r"block \(1025, 1, 1\) has more than the 1024 work-items that"),
        ({"grid": 1, "block": (32, 33)}, ValueError, r"block \(32, 33, 1\) has more than the 1024 work-items that"),
        ({"grid": 1, "block": (2**62, 2**62)}, ValueError, "block .* has more than the 1024 work-items that"),
        ({"grid": 1, "block": 64, "shared_memory": -1}, ValueError, "shared_memory -1 is negative"),
        (
            {"grid": 1, "block": 64, "shared_memory": 2**20},
            ValueError,
            "0 bytes of its own .*shared_memory=1048576 are",
        ),
        ({"grid": 1, "block": 64, "shared_memory": "1"}, TypeError, "shared_memory: expected an int, given str"),
        (
            {"grid": 1, "block": 64, "threads": 0},
            TypeError,
            "got an unexpected keyword 'threads'; it takes grid=, block=",
        ),
    ],
)
def test_limits(
    driver: Driver, module: wave_runtime.Module, options: dict[str, object], error: type[Exception], message: str
) -> None:
    for kernel in (module["vector_add"], module["vector_add"].bind):
        with pytest.raises(error, match=f"kernel 'vector_add'[:,]? {message}"):
            launch(driver, kernel, **options)  # type: ignore[arg-type]


def test_grid_limit(driver: Driver, module: wave_runtime.Module) -> None:
    """AMD counts work-items in 32 bits, NVIDIA workgroups: 2^31 - 1 along x and 65535 along y."""
    grid = (1, 65536) if driver.is_nvidia else (2**22, 1)
    message = (
        r"is more than the 65535 workgroups in y that cuda:0 \(" if driver.is_nvidia else r"is 2\^32 or more work-i"
    )
    with pytest.raises(ValueError, match=message):
        launch(driver, module["vector_add"], grid=grid, block=1024)


@pytest.mark.parametrize("axis", ["y", "z"])
def test_grid_limit_of_hip(driver: Driver, module: wave_runtime.Module, axis: str) -> None:
    """HIP launches 65536 workgroups along y and z, CUDA one less."""
    grid = (1, 65537) if axis == "y" else (1, 1, 65537)
    with pytest.raises(ValueError, match=rf"is more than the 6553[56] workgroups in {axis} that "):
        launch(driver, module["vector_add"], grid=grid, block=1)


def test_block_limit_of_the_binary(driver: Driver, module: wave_runtime.Module) -> None:
    a = driver.zeros(256)
    with pytest.raises(ValueError, match=r"block \(257, 1, 1\) has more than the 256 work-items that"):
        module["reverse_static"](a, a.clone(), grid=1, block=257)


def test_block_extent_limit(driver: Driver, module: wave_runtime.Module) -> None:
    """NVIDIA's blocks have at most 64 work-items along z, AMD's 1024."""
    if driver.is_nvidia:
        with pytest.raises(ValueError, match=r"block \(1, 1, 65\) is more than the \(1024, 1024, 64\) that cuda:0"):
            launch(driver, module["vector_add"], grid=1, block=(1, 1, 65))
    else:
        launch(driver, module["vector_add"], grid=1, block=(1, 1, 65))


@pytest.mark.parametrize("grid", [4, (4,), [4, 1], (2, 1, 1)])
def test_forms(driver: Driver, module: wave_runtime.Module, way: Way, grid: object) -> None:
    a, c = driver.randn(300), driver.zeros(300, torch.float32)
    if isinstance(grid, list):
        grid = tuple(grid)
    way(module["vector_add"])(a, a, c, 300, grid=grid, block=(64, 1))
    count = 64 * (grid if isinstance(grid, int) else grid[0])  # type: ignore[index]
    assert torch.equal(c[:count], (a + a)[:count])
    assert not c[count:].any()


@pytest.mark.parametrize("size", [1 * KIB, 48 * KIB, 64 * KIB, 100 * KIB, 227 * KIB])
def test_dynamic_shared_memory(driver: Driver, module: wave_runtime.Module, way: Way, size: int) -> None:
    """More than 48 KiB takes an opt-in on CUDA, which is done for the user."""
    kernel = module["reverse_dynamic"]
    available = int(driver.description["shared_memory"])  # type: ignore[call-overload]
    a = torch.arange(size // 4, dtype=torch.int32, device=driver.device)
    b = torch.zeros_like(a)
    if size > available:
        message = f"0 bytes of its own shared memory (LDS) and shared_memory={size} are more than the {available} bytes"
        with pytest.raises(ValueError, match=re.escape(message)):
            way(kernel)(a, b, a.numel(), grid=1, block=1024, shared_memory=size)
        return
    for _ in range(2):
        way(kernel)(a, b, a.numel(), grid=1, block=1024, shared_memory=size)
        assert torch.equal(b, a.flip(0))


def test_all_of_the_shared_memory(driver: Driver, module: wave_runtime.Module) -> None:
    available = int(driver.description["shared_memory"])  # type: ignore[call-overload]
    a = torch.arange(available // 4, dtype=torch.int32, device=driver.device)
    b = torch.zeros_like(a)
    module["reverse_dynamic"](a, b, a.numel(), grid=1, block=1024, shared_memory=available)
    assert torch.equal(b, a.flip(0))


def test_static_shared_memory_counts(driver: Driver, module: wave_runtime.Module) -> None:
    kernel = module["reverse_static"]
    a = torch.arange(256, dtype=torch.int32, device=driver.device)
    b = torch.zeros_like(a)
    kernel(a, b, grid=1, block=256)
    assert torch.equal(b, a.flip(0))
    available = int(driver.description["shared_memory"])  # type: ignore[call-overload]
    own = kernel.resources(driver.device)["shared_memory"]
    assert own == 1024
    message = rf"1024 bytes of its own shared memory \(LDS\) and shared_memory={available - 1023} are more than"
    with pytest.raises(ValueError, match=message):
        kernel(a, b, grid=1, block=256, shared_memory=available - 1023)
    kernel(a, b, grid=1, block=256, shared_memory=available - 1024)


@pytest.mark.parametrize(
    "options", [{}, {"cooperative": True}, {"priority": 0}], ids=["plain", "cooperative", "priority"]
)
def test_extents_that_the_emulators_launch(
    driver: Driver, module: wave_runtime.Module, way: Way, options: dict[str, object]
) -> None:
    """Each in its place, whatever function of a driver launches."""
    if driver.is_gpu:
        does_not_apply("the extents that a GPU launches are not told")
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    with wave_runtime.profile() as profile:
        way(module["vector_add"])(a, a, c, 64, grid=(2, 3, 5), block=(7, 4, 2), **options)
    ((launched,),) = (kernel.launches for kernel in profile.kernels)
    assert (launched.grid, launched.block) == ((2, 3, 5), (7, 4, 2))


def cooperative_sum(driver: Driver, kernel: Launch, workgroups: int) -> torch.Tensor:
    a = torch.arange(workgroups, dtype=torch.int32, device=driver.device)
    out = driver.zeros(workgroups)
    kernel(a, driver.zeros(1), driver.zeros(1), out, workgroups, grid=workgroups, block=64, cooperative=True)
    return out


def test_cooperative(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    out = cooperative_sum(driver, way(module["sum_over_grid"]), 60)
    assert out.tolist() == [sum(range(60))] * 60


def test_cooperative_grid_that_is_too_large(driver: Driver, module: wave_runtime.Module) -> None:
    kernel = module["sum_over_grid"]
    units = int(driver.description["multiprocessors"])  # type: ignore[call-overload]
    resident = kernel.occupancy(driver.device, block=64) * units
    message = rf"cooperative=True: the grid \({resident + 1}, 1, 1\) must be resident at once, and .* holds {resident} "
    with pytest.raises(ValueError, match=message):
        cooperative_sum(driver, kernel, resident + 1)


def test_clusters(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    out = driver.zeros(8)
    major = int(driver.target.removeprefix("sm_")) // 10 if driver.is_nvidia else 0
    kernel = way(module["cluster_rank"])
    if major < 9:
        with pytest.raises(ValueError, match=r"kernel 'cluster_rank': cluster=\(2, 1, 1\): .*\) has no clusters"):
            kernel(out, grid=8, block=64, cluster=2)
    else:
        kernel(out, grid=8, block=64, cluster=4)
        assert out.tolist() == [0, 1, 2, 3] * 2
        kernel(out, grid=8, block=64, cluster=(2, 1, 1))
        assert out.tolist() == [0, 1] * 4
        with pytest.raises(ValueError, match=r"cluster=\(3, 1, 1\) does not divide the grid \(8, 1, 1\)"):
            kernel(out, grid=8, block=64, cluster=3)
        with pytest.raises(ValueError, match=r"cluster=\(32, 1, 1\)"):
            kernel(driver.zeros(32), grid=32, block=64, cluster=32)
        kernel(out, grid=8, block=64, cluster=1)
        assert out.tolist() == [0] * 8


def test_more_workgroups_in_a_cluster_than_the_portable_eight(gpu: Driver) -> None:
    if gpu.target != "sm_90":
        does_not_apply("clusters of 16 are sm_90's")
    out = gpu.zeros(32)
    gpu.load()["cluster_rank"](out, grid=32, block=64, cluster=16)
    assert out.tolist() == list(range(16)) * 2


def test_options_together(driver: Driver, module: wave_runtime.Module) -> None:
    """Cooperative and with a priority, or in clusters: the driver gets several attributes."""
    a, out = driver.ints(*range(8)), driver.zeros(8)
    options: dict[str, object] = {"cooperative": True, "priority": 0}
    if driver.driver == "hip" and not driver.is_gpu:
        del options["priority"]
    module["sum_over_grid"](a, driver.zeros(1), driver.zeros(1), out, 8, grid=8, block=64, **options)
    assert out.tolist() == [28] * 8


def test_programmatic(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    kernel = way(module["vector_add"])
    if driver.driver == "hip":
        with pytest.raises(ValueError, match=r"programmatic=True: .*\) has no programmatic dependent launch"):
            kernel(a, a, c, 64, grid=1, block=64, programmatic=True)
    else:
        for _ in range(3):
            kernel(a, a, c, 64, grid=1, block=64, programmatic=True)
        assert torch.equal(c, a + a)


@pytest.mark.parametrize("priority", [0, -1, -1000])
def test_priority(driver: Driver, module: wave_runtime.Module, way: Way, priority: int) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    way(module["vector_add"])(a, a, c, 64, grid=1, block=64, priority=priority)
    assert torch.equal(c, a + a)


def test_options_that_are_at_their_defaults(driver: Driver, module: wave_runtime.Module, way: Way) -> None:
    a, c = driver.randn(64), driver.zeros(64, torch.float32)
    defaults = {"shared_memory": 0, "cluster": None, "cooperative": False, "programmatic": False, "priority": None}
    way(module["vector_add"])(a, a, c, 64, grid=1, block=64, **defaults)
    assert torch.equal(c, a + a)


def test_resources(driver: Driver, module: wave_runtime.Module) -> None:
    resources = module["vector_add"].resources(driver.device)
    names = {"registers", "shared_memory", "local_memory", "constant_memory", "max_block_size", "max_shared_memory"}
    assert set(resources) == names
    assert resources["max_shared_memory"] >= 48 * 1024
    assert 2 <= resources["registers"] <= 512
    assert (resources["shared_memory"], resources["local_memory"]) == (0, 0)
    assert resources["max_block_size"] == 1024
    assert module["reverse_static"].resources(driver.device)["max_block_size"] == 256


def test_occupancy(driver: Driver, module: wave_runtime.Module) -> None:
    kernel = module["reverse_dynamic"]
    available = int(driver.description["shared_memory"])  # type: ignore[call-overload]
    assert kernel.occupancy(driver.device, block=64) >= 8
    assert kernel.occupancy(driver.device, block=1024, shared_memory=available) == 1
    with pytest.raises(ValueError, match="has more than the 1024 work-items that"):
        kernel.occupancy(driver.device, block=2048)
    with pytest.raises(TypeError, match="block= is missing"):
        kernel.occupancy(driver.device)
