"""Devices of IREE's, with the names and texts of wave_lang.runtime."""

from __future__ import annotations

import hashlib
import threading

import pytest
import torch

from wave_runtime.compat.launchable import (
    Device,
    DeviceState,
    MismatchedDeviceSetClearError,
    NoCurrentDeviceError,
    UnsupportedTorchDeviceError,
    get_vm_instance,
)
from wave_runtime.compat.launchable._device import get_device_from_torch, lookup_device_from_torch

pytestmark = pytest.mark.needs("iree")

CPU = torch.device("cpu")


def test_device() -> None:
    device = Device("local-task")
    assert repr(device) == "<Turbine Device: local-task>"
    assert device.driver_id == "local-task"
    assert device.compile_target_flags[0] == "--iree-hal-target-backends=llvm-cpu"
    assert device.type_cache_key == f"local-task:{';'.join(device.compile_target_flags)}"
    assert device.instance_cache_key == "local-task:None:None"
    assert get_device_from_torch(CPU).instance_cache_key == "local-task:0:None"
    assert device.get_type_key_hash() == hashlib.sha1(device.type_cache_key.encode()).hexdigest()
    assert device.get_type_key_hash(hasher=str.upper) == device.type_cache_key.upper()
    assert device.sync
    assert device.vm_instance is get_vm_instance() is get_vm_instance()
    assert device.create_hal_module().name == "hal"
    assert repr(device.hal_device) == "local-task"


def test_a_device_for_each_thread() -> None:
    assert Device("local-task") is Device("local-task")
    others: list[Device] = []
    thread = threading.Thread(target=lambda: others.append(Device("local-task")))
    thread.start()
    thread.join()
    assert others[0] is not Device("local-task")


def test_devices_of_a_state_are_new() -> None:
    state = DeviceState(driver="local-sync")
    assert Device(device_state=state) is not Device(device_state=state)
    assert Device(device_state=state).hal_device is state.device
    with pytest.raises(AssertionError, match="device_state= must be given if URI ommitted"):
        Device()
    with pytest.raises(AssertionError, match="device_state= cannot be given with explicit URI"):
        Device("local-sync", device_state=state)


def test_drivers_that_torch_has_no_tensors_for() -> None:
    class Vulkan:
        def __repr__(self) -> str:
            return "vulkan:0"

    state = DeviceState(driver="local-sync", device=Vulkan())
    with pytest.raises(AssertionError, match="Unsupported TORCH_TENSOR_IMPORTERS for iree driver 'vulkan'"):
        Device(device_state=state)


def test_state() -> None:
    state = DeviceState.from_uri("local-task")
    assert state is DeviceState.from_uri("local-task")
    assert state.instance is get_vm_instance()
    assert (state.torch_device, state.torch_stream, state.dlpack_device_type_code) == (None, None, 0)
    assert state.enumerated_info == {}
    for name in ("device_id", "path", "name"):
        with pytest.raises(RuntimeError, match=f"No enumerated {name} for device"):
            getattr(state, f"enumerated_{name}")
    with pytest.raises(RuntimeError, match="No enumerated device_id for device"):
        Device(device_state=state).dump_device_info()
    info = {"device_id": 0, "path": "a", "name": "b"}
    state = DeviceState(driver=state.driver, device=state.device, enumerated_info=info, torch_device=CPU)
    assert (state.enumerated_device_id, state.enumerated_path, state.enumerated_name) == (0, "a", "b")
    assert isinstance(Device(device_state=state).dump_device_info(), str)


def test_current_device() -> None:
    first, second = Device("local-task"), Device("local-sync")
    with pytest.raises(
        NoCurrentDeviceError, match=r"but none was set on this thread. Either pass an explicit 'device='"
    ):
        Device.current()
    with first:
        assert Device.current() is first
        with second:
            assert Device.current() is second
            with pytest.raises(MismatchedDeviceSetClearError, match=r"Device.set\(\)/clear\(\) are mismatched"):
                first.clear()
        assert Device.current() is first
    assert first.set() is first
    first.clear()
    with pytest.raises(MismatchedDeviceSetClearError):
        first.clear()


def test_devices_of_torch() -> None:
    device = get_device_from_torch(CPU)
    assert get_device_from_torch(CPU) is device
    assert lookup_device_from_torch(torch.device("meta")) is None
    with pytest.raises(UnsupportedTorchDeviceError, match=r"Attempt to use turbine with a torch.device .*: meta"):
        get_device_from_torch(torch.device("meta"))


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.bool, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
        *(torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu),
    ],
)
@pytest.mark.parametrize("shape", [(3, 4), (), (2, 0)])
def test_tensors_there_and_back(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    device = get_device_from_torch(CPU)
    tensor = torch.randint(0, 2, (3, 8)).to(dtype)[:, ::2] if shape == (3, 4) else torch.ones(shape).to(dtype)
    view = device.import_torch_tensor(tensor)
    assert tuple(view.shape) == shape
    back = device.export_torch_tensor(view, tensor.to("meta"))
    assert (back.dtype, back.shape) == (dtype, tensor.shape)
    raw = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(dtype.itemsize, dtype)
    assert torch.equal(back.contiguous().view(raw), tensor.contiguous().view(raw))


def test_a_dtype_that_iree_lacks() -> None:
    with pytest.raises(ValueError, match=r"IREE has no element type for torch.float4_e2m1fn_x2"):
        get_device_from_torch(CPU).import_torch_tensor(torch.empty(1, dtype=torch.float4_e2m1fn_x2))
