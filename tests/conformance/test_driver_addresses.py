"""Launches whose pointers are addresses, on every driver: the device is found, and mixed ones are refused."""

from __future__ import annotations

import threading

import pytest
import torch
from conformance_support import Driver
from torch._subclasses.fake_tensor import FakeTensorMode

import wave_runtime


def operands(driver: Driver) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return driver.randn(1000), driver.randn(1000), driver.zeros(1000, torch.float32)


def test_addresses(driver: Driver, module: wave_runtime.Module) -> None:
    """All, or some beside tensors; from within the memory that was allocated, too."""
    add = module["vector_add"]
    a, b, c = operands(driver)
    for arguments in ((a.data_ptr(), b.data_ptr(), c.data_ptr()), (a, b.data_ptr(), c), (a.data_ptr(), b, c)):
        c.zero_()
        assert add._device_of(*arguments, 1000) == driver.device
        add._launch_addresses(*arguments, 1000, grid=4, block=256)
        driver.synchronize()
        assert torch.equal(c, a + b)
    add._launch_addresses(a[4:].data_ptr(), b[4:].data_ptr(), c[4:].data_ptr(), 900, grid=4, block=256)


def test_addresses_in_a_new_thread(driver: Driver, module: wave_runtime.Module) -> None:
    """No device is current there."""
    a, b, c = operands(driver)
    driver.synchronize()
    failures: list[BaseException] = []

    def launch() -> None:
        try:
            addresses = (a.data_ptr(), b.data_ptr(), c.data_ptr())
            module["vector_add"]._launch_addresses(*addresses, 1000, grid=4, block=256)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert failures == []
    driver.synchronize()
    assert torch.equal(c, a + b)


def test_addresses_after_stand_ins(driver: Driver, module: wave_runtime.Module) -> None:
    """For a compiler's stand-ins torch says that there is a GPU, wherever it was built for them."""
    with FakeTensorMode():
        torch.empty(1, device="cuda")
    a, b, c = operands(driver)
    addresses = (a.data_ptr(), b.data_ptr(), c.data_ptr())
    assert module["vector_add"]._device_of(*addresses, 1000) == driver.device
    module["vector_add"]._launch_addresses(*addresses, 1000, grid=4, block=256)
    driver.synchronize()
    assert torch.equal(c, a + b)


def test_null(driver: Driver, module: wave_runtime.Module) -> None:
    """It is of no device, and goes well as long as nothing is read there."""
    c = driver.zeros(10, torch.float32)
    module["vector_add"]._launch_addresses(None, 0, c, 0, grid=1, block=256)
    assert module["vector_add"]._device_of(None, None, c.data_ptr(), 0) == driver.device
    driver.synchronize()


def test_no_addresses(driver: Driver, module: wave_runtime.Module) -> None:
    add = module["vector_add"]
    a, b, c = operands(driver)
    with pytest.raises(ValueError, match=r"argument 1 'b': expected a tensor or an address, given -8, which"):
        add._launch_addresses(a.data_ptr(), -8, c.data_ptr(), 1000, grid=4, block=256)
    with pytest.raises(ValueError, match=r"argument 1 'b': 18446744073709551616 does not fit in 64 bits"):
        add._launch_addresses(a.data_ptr(), 1 << 64, c.data_ptr(), 1000, grid=4, block=256)
    with pytest.raises(TypeError, match=r"argument 1 'b': expected a tensor or an address, given float"):
        add._launch_addresses(a.data_ptr(), 1.5, c.data_ptr(), 1000, grid=4, block=256)
    with pytest.raises(TypeError, match=r"takes 4 arguments .*, given 3"):
        add._launch_addresses(a.data_ptr(), b.data_ptr(), c.data_ptr(), grid=4, block=256)


@pytest.mark.gpu
def test_addresses_of_several_devices(gpu: Driver) -> None:
    """The message names both arguments and both places."""
    add = gpu.load()["vector_add"]
    a, _, c = operands(gpu)
    on_cpu = torch.zeros(1000)
    refused = r"arguments on different devices: .*'a' is on {}, the address 0x[0-9a-f]+ of .*'{}' on {}"
    with pytest.raises(ValueError, match=refused.format("cuda:0", "b", "cpu")):
        add._launch_addresses(a.data_ptr(), on_cpu.data_ptr(), c.data_ptr(), 1000, grid=4, block=256)
    with pytest.raises(ValueError, match=refused.format("cpu", "c", "cuda:0")):
        add._launch_addresses(on_cpu, on_cpu.data_ptr(), c.data_ptr(), 1000, grid=4, block=256)
    pinned = torch.ones(1000).pin_memory()
    add._launch_addresses(a.data_ptr(), pinned.data_ptr(), c.data_ptr(), 1000, grid=4, block=256)
    gpu.synchronize()
    assert torch.equal(c, a + 1)
