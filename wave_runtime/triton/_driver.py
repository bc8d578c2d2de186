"""Triton's driver of the emulator, and its launcher."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import triton
from triton import knobs
from triton.backends import Backend, backends
from triton.backends.amd.compiler import HIPBackend
from triton.backends.compiler import GPUTarget
from triton.backends.driver import GPUDriver, decompose_descriptor, expand_signature, wrap_handle_tensordesc_impl
from triton.runtime.cache import get_cache_manager

from wave_runtime import _C
from wave_runtime._emulate import _cuda, _gpu
from wave_runtime._emulate._graphs import refuse_to_wait
from wave_runtime._emulate._patches import Patches
from wave_runtime._module import load
from wave_runtime.triton._program import Program

# Operations of Triton's IR that make pointers of numbers, which a kernel may have read from memory.
MAKES_POINTERS = re.compile(r"\btt\.int_to_ptr\b")


class Device(int):
    """The index of an emulated device, which is not that of a device of another kind.

    Triton keeps compiled kernels by the index of their device, and takes those that it has for another processor.
    """

    gpu: _gpu.Gpu

    def __new__(cls, index: int, gpu: _gpu.Gpu) -> Device:
        device = super().__new__(cls, index)
        device.gpu = gpu
        return device

    def __eq__(self, other: object) -> bool:
        return int(self) == other and (not isinstance(other, Device) or self.gpu.name == other.gpu.name)

    def __hash__(self) -> int:
        return hash(int(self))


class _Counter(threading.local):
    """Counts the instructions of a thread's launches while a benchmark asks for it."""

    is_on = False
    instructions = 0


counter = _Counter()


class Launcher:
    """Launches a kernel: there is one for each that Triton compiles.

    ``load_binary`` gives Triton no module, so Triton asks for a launcher at every launch, and is given the same one.
    """

    @classmethod
    def of(cls, src: Any, metadata: Any) -> Launcher:
        """The launcher of a kernel, which is kept with Triton's source of it."""
        launcher: Launcher | None = getattr(src, "_wave_runtime_launcher", None)
        if launcher is None or launcher._metadata is not metadata:
            launcher = src._wave_runtime_launcher = cls(src, metadata)
        return launcher

    def __init__(self, src: Any, metadata: Any) -> None:
        meta = getattr(metadata, "tensordesc_meta", None)
        given = dict(src.signature.items())
        names = src.fn.arg_names if hasattr(src, "fn") else [f"arg{index}" for index in range(len(given))]
        self._signature: list[Any] = expand_signature(given.values(), None, "tensordesc")
        self._names = _expanded_names(names, list(given.values()))
        self._metadata = metadata
        self._program: Program | None = None
        # None of the processors has descriptors in hardware: they are a pointer, sizes and strides.
        launch = wrap_handle_tensordesc_impl(self._launch, given, meta, lambda value, *_: decompose_descriptor(value))
        self._wrapped: Callable[..., None] = launch

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: Any,
        function: Binary,
        packed_metadata: Any,
        launch_metadata: Any,
        enter: Callable[[Any], None] | None,
        leave: Callable[[Any], None] | None,
        *args: Any,
    ) -> None:
        """Launch, between the hooks."""
        if enter is not None:
            enter(launch_metadata)
        self._wrapped((grid_x, grid_y, grid_z), stream, function, args)
        if counter.is_on:
            counter.instructions += _C.emulator_statistics()["instructions"]
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, grid: tuple[int, int, int], stream: Any, function: Binary, args: Sequence[Any]) -> None:
        program = self._program
        if program is None:
            follows = _follows_pointers(self._metadata)
            program = Program(function.image, self._metadata, self._signature, self._names, follows)
            self._program = program
        program.launch(grid, stream, program.values(args))


def _expanded_names(names: Sequence[str], signature: Sequence[Any]) -> list[str]:
    """Names of parameters where tensor descriptors are expanded: descriptors' repeat."""
    return [
        name
        for name, kind in zip(names, signature, strict=True)
        for _ in (expand_signature([kind], None, "tensordesc") if isinstance(kind, str) else [kind])
    ]


def _follows_pointers(metadata: Any) -> bool:
    """Whether a kernel makes pointers of numbers, by its IR, which Triton keeps beside the binary."""
    group = get_cache_manager(metadata.hash).get_group(f"{metadata.name[:150]}.json") or {}
    return any(name.endswith(".ttir") and MAKES_POINTERS.search(Path(path).read_text()) for name, path in group.items())


class Binary:
    """A code object that Triton has loaded."""

    def __init__(self, image: bytes) -> None:
        self.image = image


class Utilities:
    """What Triton's driver says of devices and does with binaries."""

    def __init__(self, gpu: _gpu.Gpu) -> None:
        self._gpu = gpu

    def get_device_properties(self, device: int) -> dict[str, Any]:
        """The figures that Triton's driver for HIP says. Of the memory, whose clock and width nothing depends on: 0."""
        figures = self._gpu.figures
        return {
            "max_shared_mem": figures["shared_memory"],
            "max_num_regs": 65536,
            "max_threads_per_sm": figures["waves"] * figures["lanes"],
            "multiprocessor_count": figures["multiprocessors"],
            "sm_clock_rate": figures["clock"],
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
            "warpSize": figures["lanes"],
            "arch": figures["code"],
            "cooperativeLaunch": 1,
        }

    def load_binary(self, name: str, image: bytes, shared: int, device: int) -> tuple[None, Binary, int, int, int]:
        """No module, a binary, its registers and spills; and how many work-items it can have.

        A module would be one that Triton unloads with the driver of that time, which may be another's, or none.
        """
        binary, registers, spills = _load(name, image)
        return None, binary, registers, spills, 1024


@functools.lru_cache(maxsize=1024)
def _load(name: str, image: bytes) -> tuple[Binary, int, int]:
    """A binary, its registers and spills. Triton asks for them at every launch."""
    info = load(image)[name].info
    return Binary(image), info["registers"]["vgprs"], info["spills"]["vgprs"]


class EmulatorDriver(GPUDriver):  # type: ignore[misc]
    """Triton's driver for the emulator. Kernels are compiled for an AMD processor, and take CPU tensors.

        triton.runtime.driver.set_active(wave_runtime.triton.EmulatorDriver("gfx942"))

    ``wave_runtime.emulate`` does so, too, and undoes it.

    Args:
        target: the processor. Raises ValueError where the emulator does not have it.
        devices: how many there are.
    """

    def __init__(self, target: str | _gpu.Gpu = "gfx942", *, devices: int = 1) -> None:
        # GPUDriver's own asks torch for a GPU.
        self._gpu = gpu = target if isinstance(target, _gpu.Gpu) else _gpu.find(target, devices)
        self._devices = [Device(index, gpu) for index in range(gpu.count)]
        self.utils = Utilities(gpu)
        self.launcher_cls = Launcher.of
        self.get_current_device = lambda: self._devices[gpu.thread.index]
        self.set_current_device = self._set_device
        self.get_current_stream = lambda device=None: 0
        self.get_device_capability = lambda device=None: gpu.version

    def _set_device(self, index: int) -> None:
        if not 0 <= index < self._gpu.count:
            raise RuntimeError(f"device {index}: {self._gpu.count} emulated")
        self._gpu.thread.index = int(index)

    @staticmethod
    def is_active() -> bool:
        """Whether Triton may choose this driver by itself. It may not, because it would hide a GPU."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """As the driver for HIP does."""
        from triton.backends.amd.driver import ty_to_cpp

        name: str = ty_to_cpp(ty)
        return name

    def get_current_target(self) -> GPUTarget:
        """What kernels are compiled for."""
        return GPUTarget("hip", knobs.runtime.override_arch or self._gpu.figures["code"], self._gpu.figures["lanes"])

    def get_active_torch_device(self) -> torch.device:
        """Where tensors are."""
        return _gpu.CPU

    def get_device_interface(self) -> Any:
        """What stands for torch.cuda."""
        return _cuda

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> torch.Tensor:
        """Zeros, as the driver for HIP allocates them."""
        return torch.zeros(size, dtype=torch.int8)

    def get_benchmarker(self) -> Callable[..., Any]:
        """What autotuning asks for the time of a call: :meth:`benchmark`."""
        return self.benchmark

    def benchmark(self, call: Callable[[], object], *, quantiles: Sequence[float] | None = None, **options: Any) -> Any:
        """A stand-in for the time of a call, in milliseconds, which is the same each time.

        The call is made once, and the instructions of all waves of its launches are counted. The time is what the
        device's multiprocessors would take if each executed one of them in each cycle. It is not the time of a GPU,
        which also waits for memory.
        """
        refuse_to_wait("choosing between configurations of a Triton kernel")
        before = counter.is_on, counter.instructions
        counter.is_on, counter.instructions = True, 0
        try:
            call()
            time = counter.instructions / (self._gpu.figures["multiprocessors"] * self._gpu.figures["clock"])
        finally:
            counter.is_on, counter.instructions = before
        return time if quantiles is None else [time] * len(quantiles)

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        """What a benchmark clears between calls. It is tiny, because there is no cache."""
        return torch.empty(1, dtype=torch.int32)

    def clear_cache(self, cache: torch.Tensor) -> None:
        """Nothing."""


class _EmulatedGpuDriver(EmulatorDriver):
    """The driver of what ``wave_runtime.emulate`` makes torch's GPU: none is hidden by it."""

    @staticmethod
    def is_active() -> bool:
        """Triton's tests ask each driver so before they ask for the target: all of their ``is_hip()`` depend on it."""
        return True


class CpuBackend(HIPBackend):  # type: ignore[misc]
    """Triton's compiler for the emulated processor, where it is asked for code for the CPU.

    Inductor asks so for Triton kernels that it finds in a function on CPU tensors.
    """

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether it compiles for a target."""
        return bool(target.backend == "cpu")

    def __init__(self, target: GPUTarget) -> None:
        # HIPBackend's own refuses the target.
        self.target = triton.runtime.driver.active.get_current_target()
        self.binary_ext = "hsaco"


def set_driver(gpu: _gpu.Gpu) -> Patches:
    """Make the emulator the device that Triton finds, and the compiler's target where that is the CPU, until undone."""
    patches = Patches()
    driver = _EmulatedGpuDriver(gpu)
    for name in ("_active", "_default"):
        patches.set(triton.runtime.driver, name, driver)
    patches.set_item(backends, "cpu", Backend(CpuBackend, EmulatorDriver))
    # What Inductor compares the active driver with, where torch says that there is an AMD GPU.
    patches.set_item(backends, "amd", Backend(HIPBackend, _EmulatedGpuDriver))
    return patches
