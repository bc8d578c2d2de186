"""What torch.cuda answers while a GPU is emulated. Each of NAMES takes the place of torch.cuda's.

Launches and copies are done when they return, so that there is nothing to wait for: streams and events only have to be
asked for and compared. All devices share the CPU's random state, since their tensors are CPU tensors.
"""

from __future__ import annotations

import collections
import ctypes
import os
import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import torch

from wave_runtime._emulate._gpu import check_hip, current, index_of
from wave_runtime._emulate._graphs import CUDAGraph as CUDAGraph
from wave_runtime._emulate._graphs import graph as graph
from wave_runtime._emulate._graphs import graph_pool_handle as graph_pool_handle
from wave_runtime._emulate._graphs import is_capturing, refuse_to_wait

# The release whose interface the HIP library over the emulator has.
HIP = "6.4.43482"
ROCM = "6.4.0"

# The names that take the place of torch.cuda's.
NAMES = (
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
)

# Functions of torch's own that need nothing but these.
AS_THEY_ARE = ("make_graphed_callables", "memory_summary")

# --- devices ---


def is_available() -> bool:
    """Whether there is a GPU, which is always so."""
    return True


def is_initialized() -> bool:
    """Whether torch.cuda is in use, which is always so."""
    return True


def init() -> None:
    """Do nothing: there is nothing to initialize."""


def device_count() -> int:
    """How many devices there are: as many as emulate(devices=) says."""
    return current().count


def current_device() -> int:
    """The index of the thread's current device."""
    return current().thread.index


def set_device(device: Any) -> None:
    """Make a device the thread's current one. A negative index changes nothing, as in torch."""
    if not (isinstance(device, int) and device < 0):
        current().thread.index = index_of(device)


class device:
    """A context in which a device is the thread's current one."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or device == -1 else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current().thread.index
        set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        current().thread.index = self.prev_idx


class device_of(device):
    """A context in which a tensor's device is the current one. It already is, since CPU tensors do not name a GPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(-1)


def get_device_name(device: Any = None) -> str:
    """The name of a device, which says that it is emulated."""
    index_of(device)
    return f"Wave Runtime emulator ({current().name})"


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Major and minor number of the processor, as torch for ROCm has them: (9, 4) of gfx942."""
    index_of(device)
    return current().version


def get_arch_list() -> list[str]:
    """The name of the processor, the only one that programs may be compiled for."""
    return [current().name]


class _Properties(SimpleNamespace):
    """Those of a device."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the property '{name}' is not known of the emulated device (wave_runtime.emulate())")


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """The processor's figures under torch's names, without those that are not known. The memory is the host's."""
    gpu, figures = current(), current().figures
    index = index_of(device)
    major, minor = gpu.version
    waves = figures["waves"] * figures["lanes"]
    return _Properties(
        name=get_device_name(index),
        gcnArchName=figures["target"],
        major=major,
        minor=minor,
        multi_processor_count=figures["multiprocessors"],
        warp_size=figures["lanes"],
        max_threads_per_block=1024,
        max_threads_per_multi_processor=waves,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=figures["shared_memory"],
        shared_memory_per_block_optin=figures["shared_memory"],
        shared_memory_per_multiprocessor=figures["shared_memory"],
        clock_rate=figures["clock"],
        total_memory=mem_get_info()[1],
        is_integrated=int(figures["is_integrated"]),
        is_multi_gpu_board=0,
        uuid=f"wave-runtime-{index}",
    )


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether devices reach each other's memory, which is always so: all of it is the process's."""
    index_of(device), index_of(peer_device)
    return True


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is bf16, which is always so."""
    return True


def is_tf32_supported() -> bool:
    """Whether there is TF32: on gfx942 and gfx950, as torch for ROCm says."""
    return (9, 4) <= current().version < (10, 0)


# --- streams ---


class Stream:
    """A stream whose work is always done."""

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        self.device = torch.device("cuda", index_of(device))
        self.device_index = self.device.index
        self.priority = priority
        self.cuda_stream = options.get("stream_ptr", 0)
        self.stream_id = 0

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """The handle that functions of a library are passed for the stream."""
        return ctypes.c_void_p(self.cuda_stream)

    def synchronize(self) -> None:
        """Say whether a kernel has failed. No work is under way."""
        refuse_to_wait("Stream.synchronize")
        check_hip("Stream.synchronize")

    wait_event = wait_stream = lambda self, other: None

    def query(self) -> bool:
        """Whether all work is done, which is always so."""
        return True

    def is_capturing(self) -> bool:
        """Whether a graph is captured on the stream."""
        return is_capturing() and self is current_stream(self.device_index)

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event that has been recorded now."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._context = StreamContext(self)
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._context.__exit__()


class ExternalStream(Stream):
    """A stream of another library, by its handle."""

    def __init__(self, stream_ptr: int, device: Any = None, **options: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr, **options)


class Event:
    """A moment of the host's clock."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            refuse("Event(interprocess=True)")
        self.enable_timing = enable_timing
        self._at: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Note the time."""
        self._at = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """The host's milliseconds from this event to another. Raises where either has no time, as torch does."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("both events must be created with argument 'enable_timing=True'")
        if self._at is None or end_event._at is None:
            raise ValueError("both events must be recorded before calculating elapsed time")
        return (end_event._at - self._at) * 1e3

    def query(self) -> bool:
        """Whether the event has happened, which is always so."""
        return True

    def synchronize(self) -> None:
        """Say whether a kernel has failed. No work is under way."""
        refuse_to_wait("Event.synchronize")
        check_hip("Event.synchronize")

    def wait(self, stream: Stream | None = None) -> None:
        """Do nothing: no work is under way."""


_default_streams: dict[int, Stream] = {}


def default_stream(device: Any = None) -> Stream:
    """A device's default stream, always the same object."""
    index = index_of(device)
    return _default_streams.setdefault(index, Stream(index))


def current_stream(device: Any = None) -> Stream:
    """The thread's current stream on a device."""
    index = index_of(device)
    stream: Stream = current().thread.streams.get(index) or default_stream(index)
    return stream


def current_raw_stream(device: int) -> int:
    """The handle of the thread's current stream on a device."""
    handle: int = current_stream(device).cuda_stream
    return handle


def set_stream(stream: Stream | None) -> None:
    """Make a stream the thread's current one on its device."""
    if stream is not None:
        current().thread.streams[stream.device_index] = stream


class StreamContext:
    """A context in which a stream is the current one of its device, which is the current device."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = (current().thread.index, current_stream(self.stream.device_index))
            current().thread.index = self.stream.device_index
            set_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            current().thread.index = self._before[0]
            set_stream(self._before[1])


def stream(stream: Stream | None) -> StreamContext:
    """A context in which a stream is the current one."""
    return StreamContext(stream)


def synchronize(device: Any = None) -> None:
    """Say whether a kernel has failed. No work is under way."""
    index_of(device)
    refuse_to_wait("torch.cuda.synchronize")
    check_hip("torch.cuda.synchronize")


def is_current_stream_capturing() -> bool:
    """Whether this thread captures a graph."""
    return is_capturing()


# --- memory: the host's. Torch's caching allocator, whose figures torch.cuda has, has none of it ---


def _nothing(*args: Any, **options: Any) -> None:
    """Do nothing: there is no such cache or count."""


def _zero(device: Any = None) -> int:
    """How many bytes are in use, of which none are counted."""
    index_of(device)
    return 0


empty_cache = ipc_collect = set_per_process_memory_fraction = _nothing
reset_peak_memory_stats = reset_accumulated_memory_stats = _nothing
reset_max_memory_allocated = reset_max_memory_cached = _nothing
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _zero
memory_cached = max_memory_cached = _zero


def memory_stats(device: Any = None) -> dict[str, int]:
    """The figures of the allocator, which are all zero."""
    index_of(device)
    return collections.Counter(dict.fromkeys(("num_ooms", "num_alloc_retries"), 0))  # memory_summary looks for these


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """How many bytes of the host's memory are free, and how many there are."""
    index_of(device)
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


# --- random numbers ---


default_generators = (torch.default_generator,)


def manual_seed(seed: int) -> None:
    """Seed the generator of the CPU, which makes the devices' random numbers, too."""
    torch.default_generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the CPU with a number that is not known before."""
    torch.default_generator.seed()


def initial_seed() -> int:
    """The number that the generator of the CPU was seeded with."""
    return torch.default_generator.initial_seed()


def get_rng_state(device: Any = "cuda") -> torch.Tensor:
    """The state of the generator of the CPU."""
    index_of(device)
    return torch.default_generator.get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The state of the generator of the CPU, once for each device."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
    """Set the state of the generator of the CPU."""
    index_of(device)
    torch.default_generator.set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the state of the generator of the CPU to the last of several."""
    for state in new_states:
        set_rng_state(state)


manual_seed_all, seed_all = manual_seed, seed

# --- what there is not ---


def refuse(name: str) -> Any:
    """Raise NotImplementedError."""
    raise NotImplementedError(
        f"torch.cuda.{name} is not emulated: wave_runtime.emulate() has tensors on the CPU, where launches are done "
        "when they return (docs/emulate.md says what there is)"
    )


def refusing(name: str, original: Any) -> Any:
    """What takes the place of a function or class that there is not: it refuses to be called."""
    if isinstance(original, type):
        return type(original.__name__, (), {"__init__": lambda self, *args, **options: refuse(name)})
    function: Any = lambda *args, **options: refuse(name)  # noqa: E731
    if hasattr(original, "__wrapped__"):  # a context, of which Dynamo names the generator since torch 2.14
        function.__wrapped__ = original.__wrapped__
    return function


def current_accelerator(check_available: bool = False) -> torch.device:
    """The kind of device, for torch.accelerator."""
    return torch.device("cuda")


# Names of torch.accelerator, and those here that they are.
ACCELERATOR: dict[str, Callable[..., Any]] = {
    "current_accelerator": current_accelerator,
    "current_device_idx": current_device,
    "current_device_index": current_device,
    "set_device_idx": set_device,
    "set_device_index": set_device,
    "device_index": device,
    "get_memory_info": mem_get_info,
    "empty_host_cache": _nothing,
    **{
        name: globals()[name]
        for name in (
            *("is_available", "device_count", "current_stream", "set_stream", "synchronize", "empty_cache"),
            *("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats"),
            *("reset_accumulated_memory_stats", "reset_peak_memory_stats", "get_device_capability"),
        )
    },
}

# Of torch.cuda.nvtx: marks in a timeline that nobody keeps.
NVTX = ("range_push", "range_pop", "range_start", "range_end", "mark")
