"""IREE's devices: what programs for its VM run on, and what they share with torch."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import torch

from wave_runtime._device import has_gpu, target_of
from wave_runtime.compat.launchable import _elements
from wave_runtime.compat.launchable._errors import (
    MismatchedDeviceSetClearError,
    NoCurrentDeviceError,
    UnsupportedTorchDeviceError,
    require,
)

_CPU_FLAGS = ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu-features=host")

# How the compiler targets the devices of a driver.
COMPILE_FLAGS: dict[str, tuple[str, ...]] = {
    "local-task": _CPU_FLAGS,
    "local-sync": _CPU_FLAGS,
    "hip": ("--iree-hal-target-backends=rocm",),
    "cuda": ("--iree-hal-target-backends=cuda",),
}
_DLPACK_CODES = {"hip": 10, "cuda": 2}

_CURRENT_THREAD = threading.local()  # stack, device_by_uri, device_by_torch_device


def sha1(key: str) -> str:
    """The hash that names a device's files."""
    return hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()


@functools.cache
def get_vm_instance() -> Any:
    """The process's ``iree.runtime.VmInstance``. Raises ModuleNotFoundError without iree-base-runtime."""
    runtime = require("iree.runtime")
    runtime._binding.disable_leak_checker()  # devices live as long as the process, as torch's do
    return runtime.VmInstance()


class DeviceState:
    """An instantiated device of IREE's, and the device of torch that it stands for.

    Args:
        driver: a ``HalDriver``, or its name: "local-task", "local-sync", "hip", "cuda".
        device: a ``HalDevice``; by default the driver's default one.
        vm_instance: by default that of :func:`get_vm_instance`.
        enumerated_info: what the driver says of the device: ``device_id``, ``path``, ``name``.
        torch_device: the device of torch that has the same memory.
        torch_stream: the handle of torch's stream that launches on the device are enqueued in.
        dlpack_device_type_code: of the device in DLPack's protocol.

    Raises:
        ModuleNotFoundError: iree-base-runtime is not installed.
    """

    __slots__ = (
        "device",
        "dlpack_device_type_code",
        "driver",
        "enumerated_info",
        "instance",
        "torch_device",
        "torch_stream",
    )

    def __init__(
        self,
        *,
        driver: Any,
        device: Any = None,
        vm_instance: Any = None,
        enumerated_info: dict[str, Any] | None = None,
        torch_device: torch.device | None = None,
        torch_stream: int | None = None,
        dlpack_device_type_code: int = 0,
    ) -> None:
        self.instance = vm_instance or get_vm_instance()
        self.driver = require("iree.runtime").get_driver(driver) if isinstance(driver, str) else driver
        self.device = device or self.driver.create_default_device()
        self.enumerated_info = enumerated_info or {}
        self.torch_device = torch_device
        self.torch_stream = torch_stream
        self.dlpack_device_type_code = dlpack_device_type_code

    def _enumerated(self, name: str) -> Any:
        if name not in self.enumerated_info:
            raise RuntimeError(f"No enumerated {name} for device")
        return self.enumerated_info[name]

    @property
    def enumerated_device_id(self) -> int:
        """The driver's number of the device. Raises RuntimeError where it was not enumerated."""
        number: int = self._enumerated("device_id")
        return number

    @property
    def enumerated_path(self) -> str:
        """The driver's path of the device. Raises RuntimeError where it was not enumerated."""
        path: str = self._enumerated("path")
        return path

    @property
    def enumerated_name(self) -> str:
        """The driver's name of the device. Raises RuntimeError where it was not enumerated."""
        name: str = self._enumerated("name")
        return name

    @staticmethod
    @functools.cache
    def from_uri(uri: str) -> DeviceState:
        """The state of the device that a URI names: "local-task", "hip://1". One for the process."""
        driver = require("iree.runtime").get_driver(uri.partition(":")[0])
        return DeviceState(driver=driver, device=driver.create_device_by_uri(uri))


class Device:
    """A device of IREE's, with the order of the work on it.

    ``Device("local-task")`` is one device for each thread; with ``device_state=`` it is a new one. Devices are passed
    around, or made a thread's current one: ``with device:``.

    Attributes:
        driver_id: "local-task", "local-sync", "hip" or "cuda".
        compile_target_flags: what makes iree-compile target the device.
        type_cache_key: the same for devices that run the same programs.
        instance_cache_key: of this device and stream alone.
    """

    __slots__ = (
        "_main_timeline",
        "_main_timepoint",
        "_s",
        "compile_target_flags",
        "driver_id",
        "instance_cache_key",
        "type_cache_key",
    )

    _s: DeviceState
    _main_timeline: Any
    _main_timepoint: int
    driver_id: str
    compile_target_flags: tuple[str, ...]
    type_cache_key: str
    instance_cache_key: str

    def __new__(cls, uri: str | None = None, *, device_state: DeviceState | None = None) -> Device:
        if uri is None:
            if device_state is None:
                raise AssertionError("device_state= must be given if URI ommitted")
            return cls._make(device_state)
        if device_state is not None:
            raise AssertionError("device_state= cannot be given with explicit URI")
        devices: dict[str, Device] = _of_thread("device_by_uri", {})
        if uri not in devices:
            devices[uri] = cls._make(DeviceState.from_uri(uri))
        return devices[uri]

    @classmethod
    def _make(cls, state: DeviceState) -> Device:
        self = super().__new__(cls)
        self._s = state
        self.driver_id = repr(state.device).partition(":")[0]  # IREE has no other word for it
        if self.driver_id not in COMPILE_FLAGS:
            raise AssertionError(f"Unsupported TORCH_TENSOR_IMPORTERS for iree driver '{self.driver_id}'")
        self._main_timeline = state.device.create_semaphore(0)
        self._main_timepoint = 0
        self.compile_target_flags = COMPILE_FLAGS[self.driver_id] + _architecture_flags(self.driver_id, state)
        self.type_cache_key = f"{self.driver_id}:{';'.join(self.compile_target_flags)}"
        number = state.enumerated_info.get("device_id")
        self.instance_cache_key = f"{self.driver_id}:{number}:{state.torch_stream}"
        return self

    @property
    def hal_device(self) -> Any:
        """The ``iree.runtime.HalDevice``."""
        return self._s.device

    @property
    def vm_instance(self) -> Any:
        """The ``iree.runtime.VmInstance``."""
        return self._s.instance

    @property
    def sync(self) -> bool:
        """Whether invocations are waited for: all but those that IREE enqueues in torch's own stream, which is HIP's.

        IREE's CUDA driver has streams of its own.
        """
        return self._s.torch_stream is None or self.driver_id == "cuda"

    def create_hal_module(self) -> Any:
        """A ``VmModule`` that gives programs this device."""
        return require("iree.runtime").create_hal_module(self._s.instance, self._s.device)

    def get_type_key_hash(self, *, hasher: Callable[[str], str] = sha1) -> str:
        """A hash of ``type_cache_key``, which names the files of programs for such devices."""
        return hasher(self.type_cache_key)

    def dump_device_info(self) -> str:
        """What the driver tells of the device. Raises RuntimeError where it was not enumerated."""
        info: str = self._s.driver.dump_device_info(self._s.enumerated_device_id)
        return info

    def import_torch_tensor(self, tensor: torch.Tensor) -> Any:
        """A ``HalBufferView`` of a tensor that lies on this device: of a copy on the CPU, else of its own memory."""
        if tensor.device.type == "cpu":
            return _elements.copy_from_cpu(self._s.device, tensor)
        return self._s.device.from_dlpack_capsule(_elements.dense(tensor.detach()).__dlpack__(stream=-1))

    def export_torch_tensor(self, view: Any, like: torch.Tensor) -> torch.Tensor:
        """A tensor that shares the memory of a ``HalBufferView``, with the shape and dtype of ``like``."""
        if self.driver_id not in _DLPACK_CODES:
            return _elements.map_on_cpu(view, like)
        assert self._s.torch_device is not None, "the device was not made of one of torch's"
        capsule = self._s.device.create_dlpack_capsule(
            view, self._s.dlpack_device_type_code, self._s.torch_device.index
        )
        tensor: torch.Tensor = torch.utils.dlpack.from_dlpack(capsule)
        return tensor if tensor.dtype == like.dtype else tensor.view(like.dtype)

    def setup_iree_action(self) -> None:
        """Begin an invocation: it comes after those before it, and after what torch has enqueued."""
        if self.sync:
            self._wait_for_torch()
            self._main_timepoint += 1

    def finalize_iree_action(self, external_timepoint: object) -> None:
        """End an invocation that :meth:`setup_iree_action` began, which returned the argument: wait where ``sync``."""
        if self.sync:
            self._main_timeline.wait(self._main_timepoint)

    def _wait_for_torch(self) -> None:
        if self.driver_id in _DLPACK_CODES and has_gpu():
            torch.cuda.current_stream(self._s.torch_device).synchronize()

    @staticmethod
    def current() -> Device:
        """The thread's current device. Raises NoCurrentDeviceError."""
        stack: list[Device] = _of_thread("stack", [])
        if not stack:
            raise NoCurrentDeviceError
        return stack[-1]

    def set(self) -> Device:
        """Make it the thread's current device, until :meth:`clear`."""
        _of_thread("stack", []).append(self)
        return self

    def clear(self) -> None:
        """Undo :meth:`set`. Raises MismatchedDeviceSetClearError where another device is the current one."""
        stack: list[Device] = _of_thread("stack", [])
        if not stack or stack[-1] is not self:
            raise MismatchedDeviceSetClearError
        stack.pop()

    def __enter__(self) -> Device:
        return self.set()

    def __exit__(self, *error: object) -> None:
        self.clear()

    def __repr__(self) -> str:
        return f"<Turbine Device: {self._s.device}>"


def _of_thread(name: str, default: Any) -> Any:
    """The device of that name that this thread has."""
    return _CURRENT_THREAD.__dict__.setdefault(name, default)


def _architecture_flags(driver: str, state: DeviceState) -> tuple[str, ...]:
    if state.torch_device is None or driver not in _DLPACK_CODES:
        return ()
    return (f"--iree-{driver}-target={target_of(state.torch_device).partition(':')[0]}",)


def lookup_device_from_torch(torch_device: torch.device, *, create: bool = True) -> Device | None:
    """The thread's device for one of torch's, and for its current stream.

    None where IREE has no driver for such devices, or with ``create=False`` where there is none yet.

    Raises:
        ModuleNotFoundError: iree-base-runtime is not installed.
    """
    stream = None
    if torch_device.type == "cuda":
        index = torch.cuda.current_device() if torch_device.index is None else torch_device.index
        torch_device = torch.device("cuda", index)
        stream = torch.cuda.current_stream(torch_device).cuda_stream
    devices: dict[Any, Device] = _of_thread("device_by_torch_device", {})
    key = torch_device, stream
    if key not in devices and create:
        state = _state_for(torch_device, stream)
        if state is not None:
            devices[key] = Device(device_state=state)
    return devices.get(key)


def get_device_from_torch(torch_device: torch.device) -> Device:
    """As :func:`lookup_device_from_torch`. Raises UnsupportedTorchDeviceError where there is none."""
    device = lookup_device_from_torch(torch_device)
    if device is None:
        raise UnsupportedTorchDeviceError(torch_device)
    return device


@functools.cache  # all threads share IREE's device, as its programs do
def _state_for(torch_device: torch.device, stream: int | None) -> DeviceState | None:
    runtime = require("iree.runtime")
    if torch_device.type == "cpu":
        driver = runtime.get_driver("local-task")
        info = driver.query_available_devices()[0]
        return DeviceState(driver=driver, enumerated_info=info, torch_device=torch_device, dlpack_device_type_code=1)
    if torch_device.type != "cuda":
        return None
    name = "hip" if torch.version.hip else "cuda"
    if name == "hip":
        _use_loaded_library()
    driver = runtime.get_driver(name)
    wanted = str(torch.cuda.get_device_properties(torch_device).uuid)
    infos = [info for info in driver.query_available_devices() if info["path"].removeprefix("GPU-") == wanted]
    if not infos:
        return None
    return DeviceState(
        driver=driver,
        device=driver.create_device(infos[0], {"hip_external_stream": str(stream)} if name == "hip" else {}),
        enumerated_info=infos[0],
        torch_device=torch_device,
        torch_stream=stream,
        dlpack_device_type_code=_DLPACK_CODES[name],
    )


@functools.cache
def _use_loaded_library() -> None:
    """Have IREE open the HIP library that torch has: streams of one mean nothing to another."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "/libamdhip64.so" in line}
    for path in paths:
        require("iree.runtime").flags.parse_flags(f"--hip_dylib_path=file:{path}")
