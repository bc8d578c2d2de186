"""What is loaded on every driver, and when: symbols, unloading, garbage collection, raw launches."""

from __future__ import annotations

import gc
import os
import struct
import threading
import time
from pathlib import Path

import pytest
import torch
from conformance_support import SIGNATURES, TABLE, TABLE_BYTES, Driver, images, loaded_of
from requirements import does_not_apply

import wave_runtime

CYCLES = int(os.environ.get("WAVE_RUNTIME_TEST_CYCLES", "500"))


def loaded_kernels(module: wave_runtime.Module) -> list[tuple[str, ...]]:
    """The kernels of a module that have been looked up, for each device where it is loaded."""
    return [item.kernels for item in loaded_of(module)]


def take(driver: Driver, module: wave_runtime.Module, step: int = 1, entry: int = 7) -> list[int]:
    out = driver.zeros(2)
    module["take"](out, step, entry, grid=1, block=64)
    return out.tolist()


def test_loaded_at_the_first_launch(driver: Driver) -> None:
    module = driver.load_fresh()
    kernel = module["take"]
    assert loaded_kernels(module) == []
    kernel(driver.zeros(2), 1, 0, grid=1, block=64)
    assert loaded_kernels(module) == [("take",)]
    module["vector_add"].preload(driver.device)
    assert [sorted(names) for names in loaded_kernels(module)] == [["take", "vector_add"]]
    (item,) = loaded_of(module)
    assert (item.device, item.driver, item.pinned) == (driver.place, driver.driver, False)
    assert len(item.sha256) == 64


def test_contents_are_loaded_once(driver: Driver) -> None:
    data, entry = driver.fresh_binary()
    first, second = (wave_runtime.load(data, signature=SIGNATURES) for _ in range(2))
    assert take(driver, first) == [5, entry]
    assert take(driver, second) == [6, entry]
    assert len(loaded_kernels(first)) == 1


def test_symbols(driver: Driver) -> None:
    data, entry = driver.fresh_binary()
    module = wave_runtime.load(data, signature=SIGNATURES)
    counter = module.symbol("counter", device=driver.device, dtype=torch.int32)
    assert counter.device == driver.device
    assert counter.tolist() == [5]
    assert module.symbol("table", device=driver.device, dtype=torch.int32).tolist() == [*TABLE[:7], entry]
    assert module.symbol("table", device=driver.device).shape == (32,)
    assert take(driver, module, step=3) == [5, entry]
    assert counter.tolist() == [8]
    counter.fill_(100)
    driver.synchronize()
    assert take(driver, module) == [100, entry]
    assert counter.tolist() == [101]
    module.symbol("counter", device=driver.device, dtype=torch.int32).zero_()
    assert counter.tolist() == [0]


def test_a_constant_can_be_written_from_outside(driver: Driver) -> None:
    module = driver.load_fresh()
    module.symbol("table", device=driver.device, dtype=torch.int32)[3] = -77
    driver.synchronize()
    assert take(driver, module, entry=3)[1] == -77


def test_symbols_there_are_not(driver: Driver, module: wave_runtime.Module) -> None:
    for name in ("nothing", ""):
        with pytest.raises(ValueError, match=f"no variable '{name}' in the module"):
            module.symbol(name, device=driver.device)
    with pytest.raises(ValueError, match=r"symbol 'counter' has 4 bytes, no multiple of torch.float64's 8"):
        module.symbol("counter", device=driver.device, dtype=torch.float64)


def test_a_symbol_keeps_its_module_loaded(driver: Driver) -> None:
    data, _ = driver.fresh_binary()
    module = wave_runtime.load(data, signature=SIGNATURES)
    sha256 = wave_runtime._C.CodeObject(images(module)[0]).describe()["sha256"]
    view = module.symbol("counter", device=driver.device, dtype=torch.int32)[:]
    del module
    gc.collect()
    assert sha256 in {item.sha256 for item in wave_runtime.loaded()}
    assert view.tolist() == [5]
    del view
    gc.collect()
    assert sha256 not in {item.sha256 for item in wave_runtime.loaded()}


def test_symbol_on_the_default_device() -> None:
    """Without a device: the current GPU, else the CPU."""
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    if expected == "cuda":
        does_not_apply("the emulator's binary does not run on the GPU that is the default")
    module = wave_runtime.load(Path(__file__).parent / "kernels.hsaco")
    assert module.symbol("counter").device.type == expected


def test_unload(driver: Driver) -> None:
    data, entry = driver.fresh_binary()
    module = wave_runtime.load(data, signature=SIGNATURES)
    assert module.unload() == 0
    assert take(driver, module) == [5, entry]
    assert take(driver, module) == [6, entry]
    assert module.unload() == 1
    assert loaded_kernels(module) == []
    assert take(driver, module) == [5, entry]  # loaded again, its variables as they were in the file
    assert module.unload() == 1


def test_bound_launches_load_again(driver: Driver) -> None:
    module = driver.load_fresh()
    out = driver.zeros(2)
    bound = module["take"].bind(out, 1, 0, grid=1, block=64)
    sequence = wave_runtime.sequence([bound, bound])
    sequence()
    assert out.tolist() == [6, 1]
    assert module.unload() == 1
    bound()
    assert out.tolist() == [5, 1]
    assert module.unload() == 1
    sequence()
    assert out.tolist() == [6, 1]


def test_garbage_collection_unloads(driver: Driver) -> None:
    module = driver.load_fresh()
    bound = module["take"].bind(driver.zeros(2), 1, 0, grid=1, block=64)
    bound()
    sha256 = wave_runtime._C.CodeObject(images(module)[0]).describe()["sha256"]
    del module
    gc.collect()
    assert sha256 in {item.sha256 for item in wave_runtime.loaded()}  # by the bound launch
    del bound
    gc.collect()
    assert sha256 not in {item.sha256 for item in wave_runtime.loaded()}


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def device_bytes(driver: Driver) -> int:
    if not driver.is_gpu:
        return 0
    free, total = torch.cuda.mem_get_info(driver.device)
    return total - free


def test_nothing_is_lost_over_many_cycles(driver: Driver, record_property: pytest.RecordProperty) -> None:
    """Load, launch, unload. WAVE_RUNTIME_TEST_CYCLES=10000 makes the figures for the record."""
    out = driver.zeros(2)
    module = driver.load_fresh()
    kernel = module["take"]

    def cycle() -> None:
        kernel(out, 1, 0, grid=1, block=64)
        driver.synchronize()
        assert module.unload() == 1

    for _ in range(100):
        cycle()
    for _ in range(20):  # other processes allocate device memory, too, now and then; a leak shows every time
        before, device_before = resident_bytes(), device_bytes(driver)
        for _ in range(CYCLES):
            cycle()
        grown, device_grown = resident_bytes() - before, device_bytes(driver) - device_before
        print(f"{driver.name}: {CYCLES} cycles, host memory +{grown} bytes, device memory +{device_grown} bytes")
        if device_grown <= 8 * 2**20:
            break
    record_property("bytes per cycle", grown / CYCLES)
    assert out.tolist() == [5, 1]
    # An image has 20 KB: a module that is not freed shows at once. The allocators' own noise is below this.
    assert grown < 2 * 2**20 + 200 * CYCLES
    assert device_grown <= 8 * 2**20


def test_parsing_and_dropping_many_files(driver: Driver) -> None:
    """The same for modules of Python, of the same contents: a kernel is registered once."""
    data, _ = driver.fresh_binary()
    out = driver.zeros(2)

    def cycle() -> None:
        wave_runtime.load(data, signature=SIGNATURES)["take"](out, 1, 0, grid=1, block=64)
        driver.synchronize()

    for _ in range(20):
        cycle()
    before = resident_bytes()
    for _ in range(CYCLES):
        cycle()
    assert resident_bytes() - before < CYCLES * len(data) / 4  # far less than if each were kept


def test_unloading_while_another_thread_launches(driver: Driver) -> None:
    module = driver.load_fresh()
    a = driver.randn(256)
    done = threading.Event()
    errors: list[str] = []

    def work() -> None:
        c = driver.zeros(256, torch.float32)
        try:
            while not done.is_set():
                c.zero_()
                module["vector_add"](a, a, c, 256, grid=1, block=256)
                if not torch.equal(c, a + a):
                    errors.append("wrong result")
        except Exception as error:
            errors.append(repr(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    unloaded, end = 0, time.monotonic() + 60
    while unloaded < 20 and not errors and time.monotonic() < end:
        unloaded += module.unload()
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert unloaded >= 20


@pytest.mark.parametrize("with_memory", [True, False])
def test_raw_launch(driver: Driver, with_memory: bool) -> None:
    """memory= says what an emulated kernel may touch; a GPU needs only the device."""
    kernel = driver.load()["vector_add"]
    a, b, c = driver.randn(100), driver.randn(100), driver.zeros(100, torch.float32)
    packed = struct.pack("<3Qi", a.data_ptr(), b.data_ptr(), c.data_ptr(), 100)
    versions = a._version, c._version
    if with_memory:
        kernel.launch_raw(packed, memory=[a, b, c], grid=1, block=128)
        assert (a._version, c._version) == (versions[0] + 1, versions[1] + 1)
        kernel.launch_raw(packed, memory=[c], reads=[a, b], grid=1, block=128)
        assert (a._version, c._version) == (versions[0] + 1, versions[1] + 2)
    elif driver.driver == "emulator":
        with pytest.raises(wave_runtime.KernelFault, match="out of bounds"):
            kernel.launch_raw(packed, device=driver.device, grid=1, block=128)
        return
    else:
        kernel.launch_raw(packed, device=driver.device, grid=1, block=128)
    assert torch.equal(c, a + b)


def test_raw_launch_of_wrong_arguments(driver: Driver, module: wave_runtime.Module) -> None:
    kernel = module["vector_add"]
    with pytest.raises(ValueError, match=r"kernel 'vector_add' takes \d+ bytes of arguments, given 10000"):
        kernel.launch_raw(bytes(10000), device=driver.device, grid=1, block=64)
    with pytest.raises(TypeError, match=r"memory\[0\]: expected a tensor, given int"):
        kernel.launch_raw(bytes(28), memory=[0], device=driver.device, grid=1, block=64)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="grid= is missing"):
        kernel.launch_raw(bytes(28), device=driver.device, block=64)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"device=.* given, but the tensors are on meta"):
        kernel.launch_raw(bytes(28), memory=[torch.empty(1, device="meta")], device=driver.device, grid=1, block=64)


def test_raw_launch_without_its_last_arguments(driver: Driver, module: wave_runtime.Module) -> None:
    """What is not given is zero."""
    out = driver.ints(7, 7)
    module["store_at"].launch_raw(struct.pack("<QQ", out.data_ptr(), 1), memory=[out], grid=1, block=64)
    assert out.tolist() == [7, 0]


def test_kernels_of_the_source(driver: Driver, module: wave_runtime.Module) -> None:
    assert sorted(module.kernels) == sorted(SIGNATURES)
    assert driver.binary().count(TABLE_BYTES) == 1


def test_a_symbol_in_use_is_not_unloaded(driver: Driver) -> None:
    module = driver.load_fresh()
    counter = module.symbol("counter", device=driver.device, dtype=torch.int32)
    assert module.unload() == 0
    counter.fill_(50)
    driver.synchronize()
    assert take(driver, module)[0] == 50
    del counter
    assert module.unload() == 1
    assert take(driver, module)[0] == 5
