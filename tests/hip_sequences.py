"""What random sequences of calls of the HIP library on the emulator have in common: memory, streams, and what calls
return."""

from __future__ import annotations

import ctypes
import tempfile
from ctypes import byref, c_size_t, c_ubyte, c_uint, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from support import EXAMPLES

from wave_emulator import _hip

SUCCESS, INVALID_VALUE, NOT_FOUND, NOT_READY = 0, 1, 500, 600
EVENT_WITHOUT_TIME = 2
Bytes = npt.NDArray[np.uint8]


@dataclass(eq=False)
class Memory:
    """An allocation, and what it holds once the work behind it has ended."""

    pointer: int
    content: Bytes
    is_host: bool = False
    is_freed: bool = False
    stream: Stream | None = None  # the last that worked on it


@dataclass(eq=False)
class Stream:
    handle: int | None
    is_destroyed: bool = False


class HipSequences(RuleBasedStateMachine):
    """What a stream does to memory that another one worked on waits for that."""

    memories = Bundle("memories")
    streams = Bundle("streams")

    folder = tempfile.TemporaryDirectory()
    hip: Any = None
    function: Any = None

    @classmethod
    def library(cls) -> Any:
        if cls.hip is None:
            _hip.link(Path(cls.folder.name))
            cls.hip = ctypes.CDLL(str(Path(cls.folder.name) / "libamdhip64.so.7"))  # which keeps errors
            module, cls.function = c_void_p(), c_void_p()
            file = str(EXAMPLES / "binaries" / "basics.hsaco").encode()
            assert cls.hip.hipModuleLoad(byref(module), file) == SUCCESS
            assert cls.hip.hipModuleGetFunction(byref(cls.function), module, b"vector_add") == SUCCESS
            assert cls.hip.hipModuleGetFunction(byref(c_void_p()), module, b"no such kernel") == NOT_FOUND
            cls.hip.hipGetLastError()
        return cls.hip

    def __init__(self) -> None:
        super().__init__()
        self.api = self.library()
        self.last_error = SUCCESS
        self.null = Stream(None)
        self.alive: list[Memory] = []
        self.made: list[tuple[str, int]] = []  # what is destroyed at the end
        self.free_before = self.free_bytes()

    def call(self, name: str, *arguments: Any, wanted: int = SUCCESS) -> None:
        code = getattr(self.api, name)(*arguments)
        assert code == wanted, f"{name} returns {code}, must return {wanted}"
        if wanted not in (SUCCESS, NOT_READY):
            self.last_error = wanted

    def free_bytes(self) -> int:
        free, total = c_size_t(), c_size_t()
        self.call("hipMemGetInfo", byref(free), byref(total))
        return free.value

    def new(self, name: str, *arguments: Any) -> int:
        handle = c_void_p()
        self.call(name, byref(handle), *arguments)
        assert handle.value is not None
        return handle.value

    @initialize(target=streams)
    def null_stream(self) -> Stream:
        return self.null

    def add(self, pointer: c_void_p, size: int, is_host: bool) -> Memory:
        assert pointer.value is not None
        memory = Memory(pointer.value, np.zeros(size, np.uint8), is_host, stream=self.null)
        for other in self.alive:
            apart = other.pointer + len(other.content) <= memory.pointer or memory.pointer + size <= other.pointer
            assert apart, "two allocations overlap"
        self.alive.append(memory)
        self.call("hipMemset", c_void_p(memory.pointer), 0, c_size_t(size))
        return memory

    def order(self, memory: Memory, stream: Stream) -> None:
        before = memory.stream
        memory.stream = stream
        if before is None or before is stream or before.is_destroyed:
            return
        event = c_void_p()
        self.call("hipEventCreateWithFlags", byref(event), c_uint(EVENT_WITHOUT_TIME))
        self.call("hipEventRecord", event, c_void_p(before.handle))
        self.call("hipStreamWaitEvent", c_void_p(stream.handle), event, c_uint(0))
        self.call("hipEventDestroy", event)

    @rule(memory=memories)
    def read(self, memory: Memory) -> None:
        if memory.is_freed:
            return
        if memory.stream is not None and not memory.stream.is_destroyed:
            self.call("hipStreamSynchronize", c_void_p(memory.stream.handle))
        found = np.empty_like(memory.content)
        self.call("hipMemcpy", c_void_p(found.ctypes.data), c_void_p(memory.pointer), c_size_t(len(found)), 2)
        assert np.array_equal(found, memory.content)
        if memory.is_host:
            mapped = (c_ubyte * len(found)).from_address(memory.pointer)
            assert np.array_equal(np.frombuffer(mapped, np.uint8), memory.content)

    @invariant()
    def memory_is_counted(self) -> None:
        used = sum(-(-len(memory.content) // 4096) * 4096 for memory in self.alive)
        assert self.free_before - self.free_bytes() >= used

    def teardown(self) -> None:
        self.call("hipDeviceSynchronize")
        for memory in self.alive:
            self.read(memory)
            self.call("hipHostFree" if memory.is_host else "hipFree", c_void_p(memory.pointer))
        for name, handle in self.made:
            self.call(name, c_void_p(handle))
        assert self.free_bytes() == self.free_before, "memory has leaked"
        self.api.hipGetLastError()
