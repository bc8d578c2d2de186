"""Random sequences of calls of the HIP library on the emulator, beside a model of memory and of what calls return."""

from __future__ import annotations

import ctypes
import os
import tempfile
from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import warm_python
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from support import EXAMPLES, ROOT

from wave_emulator import _hip

SUCCESS, INVALID_VALUE, INVALID_HANDLE, NOT_FOUND, NOT_READY, DESTROYED = 0, 1, 400, 500, 600, 709
EVENT_WITHOUT_TIME = 2
KINDS = st.sampled_from([0, 1, 2, 3, 4])
SIZES = st.integers(1, 5000)
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


@dataclass(eq=False)
class Event:
    handle: int
    is_timed: bool
    is_recorded: bool = False
    is_destroyed: bool = False


@dataclass(eq=False)
class Graph:
    """A graph that is ready, and what a launch of it does."""

    handle: int
    writes: list[tuple[Memory, int, int, int]] = field(default_factory=list)  # memory, begin, size, value


class Sequences(RuleBasedStateMachine):
    """Each call's code is what docs/hip_emulator.md says, and each byte what the calls before have made of it."""

    memories = Bundle("memories")
    freed = Bundle("freed")
    streams = Bundle("streams")
    events = Bundle("events")
    graphs = Bundle("graphs")

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

    @initialize(target=streams)
    def null_stream(self) -> Stream:
        return self.null

    # Memory. hipMemset returns before its fill in the null stream is done, for which other streams need not wait.

    def add(self, pointer: c_void_p, size: int, is_host: bool) -> Memory:
        assert pointer.value is not None
        memory = Memory(pointer.value, np.zeros(size, np.uint8), is_host, stream=self.null)
        for other in self.alive:
            apart = other.pointer + len(other.content) <= memory.pointer or memory.pointer + size <= other.pointer
            assert apart, "two allocations overlap"
        self.alive.append(memory)
        self.call("hipMemset", c_void_p(memory.pointer), 0, c_size_t(size))
        return memory

    @rule(target=memories, size=SIZES)
    def allocate(self, size: int) -> Memory:
        pointer = c_void_p()
        self.call("hipMalloc", byref(pointer), c_size_t(size))
        return self.add(pointer, size, is_host=False)

    @rule(target=memories, size=SIZES)
    def allocate_on_the_host(self, size: int) -> Memory:
        pointer = c_void_p()
        self.call("hipHostMalloc", byref(pointer), c_size_t(size), c_uint(0))
        return self.add(pointer, size, is_host=True)

    @rule(target=memories, size=SIZES, stream=streams)
    def allocate_in_a_stream(self, size: int, stream: Stream) -> Any:
        pointer = c_void_p()
        if stream.is_destroyed:
            self.call("hipMallocAsync", byref(pointer), c_size_t(size), c_void_p(stream.handle), wanted=INVALID_HANDLE)
            return multiple()
        self.call("hipMallocAsync", byref(pointer), c_size_t(size), c_void_p(stream.handle))
        return self.add(pointer, size, is_host=False)

    @rule()
    def allocate_nothing(self) -> None:
        pointer = c_void_p(1)
        self.call("hipMalloc", byref(pointer), c_size_t(0))
        assert pointer.value is None
        self.call("hipFree", None)
        self.call("hipMalloc", None, c_size_t(1), wanted=INVALID_VALUE)

    @rule(target=freed, memory=consumes(memories))
    def free(self, memory: Memory) -> Memory:
        self.call("hipHostFree" if memory.is_host else "hipFree", c_void_p(memory.pointer))
        self.alive.remove(memory)
        memory.is_freed = True
        return memory

    @rule(memory=freed)
    def use_what_was_freed(self, memory: Memory) -> None:
        self.call("hipFree", c_void_p(memory.pointer), wanted=INVALID_VALUE)
        self.call("hipMemset", c_void_p(memory.pointer), 1, c_size_t(1), wanted=INVALID_VALUE)
        byte = c_ubyte()
        self.call("hipMemcpy", byref(byte), c_void_p(memory.pointer), c_size_t(1), 2, wanted=INVALID_VALUE)

    @rule(memory=memories, past=st.integers(1, 100))
    def past_the_end(self, memory: Memory, past: int) -> None:
        if memory.is_freed:
            return
        size = c_size_t(len(memory.content) + past)
        self.call("hipMemset", c_void_p(memory.pointer), 1, size, wanted=INVALID_VALUE)
        buffer = (c_ubyte * size.value)()
        self.call("hipMemcpy", buffer, c_void_p(memory.pointer), size, 2, wanted=INVALID_VALUE)

    # Work in streams. What a stream does to memory that another one worked on waits for that.

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

    @rule(memory=memories, stream=streams, value=st.integers(0, 255), data=st.data())
    def fill(self, memory: Memory, stream: Stream, value: int, data: st.DataObject) -> None:
        if memory.is_freed:
            return
        begin = data.draw(st.integers(0, len(memory.content)), "begin")
        size = data.draw(st.integers(0, len(memory.content) - begin), "size")
        arguments = c_void_p(memory.pointer + begin), value, c_size_t(size), c_void_p(stream.handle)
        if stream.is_destroyed:
            self.call("hipMemsetAsync", *arguments, wanted=DESTROYED)
            return
        self.order(memory, stream)
        self.call("hipMemsetAsync", *arguments)
        memory.content[begin : begin + size] = value

    @rule(to=memories, source=memories, stream=streams, kind=KINDS, data=st.data())
    def copy(self, to: Memory, source: Memory, stream: Stream, kind: int, data: st.DataObject) -> None:
        if to.is_freed or source.is_freed or stream.is_destroyed or to is source:
            return
        size = data.draw(st.integers(0, min(len(to.content), len(source.content))), "size")
        at = data.draw(st.integers(0, len(to.content) - size), "at")
        begin = data.draw(st.integers(0, len(source.content) - size), "begin")
        for memory in (to, source):
            self.order(memory, stream)
        pointers = c_void_p(to.pointer + at), c_void_p(source.pointer + begin)
        self.call("hipMemcpyAsync", *pointers, c_size_t(size), kind, c_void_p(stream.handle))
        to.content[at : at + size] = source.content[begin : begin + size]

    @rule(memory=memories, stream=streams, seed=st.integers(0, 1 << 16))
    def write(self, memory: Memory, stream: Stream, seed: int) -> None:
        """Of memory that HIP does not know: it may change when the call has returned."""
        if memory.is_freed or stream.is_destroyed:
            return
        self.order(memory, stream)
        bytes_ = np.random.default_rng(seed).integers(0, 256, len(memory.content), dtype=np.uint8)
        given = bytes_.copy()
        arguments = c_void_p(memory.pointer), c_void_p(given.ctypes.data), c_size_t(len(given)), 1
        self.call("hipMemcpyAsync", *arguments, c_void_p(stream.handle))
        given[:] = 0
        memory.content[:] = bytes_

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

    @rule(a=memories, b=memories, c=memories, stream=streams)
    def launch(self, a: Memory, b: Memory, c: Memory, stream: Stream) -> None:
        """vector_add, on as many f32 as they all have."""
        count = min(len(memory.content) for memory in (a, b, c)) // 4
        if any(memory.is_freed for memory in (a, b, c)) or a is c or b is c or count == 0 or stream.is_destroyed:
            return
        for memory in {id(memory): memory for memory in (a, b, c)}.values():
            self.order(memory, stream)
        number = c_int(count)
        values = [*(c_void_p(memory.pointer) for memory in (a, b, c)), number]
        parameters = (c_void_p * 4)(*map(ctypes.addressof, values))
        geometry = [-(-count // 64), 1, 1, 64, 1, 1, 0]
        self.call("hipModuleLaunchKernel", self.function, *geometry, c_void_p(stream.handle), parameters, None)
        number.value = 0  # arguments are read before the call returns
        with np.errstate(all="ignore"):
            first, second = (memory.content[: 4 * count].view(np.float32) for memory in (a, b))
            c.content[: 4 * count] = (first + second).view(np.uint8)

    # Streams, events, graphs.

    @rule(target=streams, flags=st.sampled_from([0, 1]))
    def create_stream(self, flags: int) -> Stream:
        handle = c_void_p()
        self.call("hipStreamCreateWithFlags", byref(handle), c_uint(flags))
        self.call("hipStreamCreateWithFlags", byref(c_void_p()), c_uint(2), wanted=INVALID_VALUE)
        assert handle.value is not None
        self.made.append(("hipStreamDestroy", handle.value))
        return Stream(handle.value)

    @rule(stream=streams)
    def destroy_stream(self, stream: Stream) -> None:
        if stream.handle is None:
            return
        if not stream.is_destroyed:
            self.call("hipStreamSynchronize", c_void_p(stream.handle))
            self.call("hipStreamDestroy", c_void_p(stream.handle))
            self.made.remove(("hipStreamDestroy", stream.handle))
        stream.is_destroyed = True
        for name in ("hipStreamDestroy", "hipStreamSynchronize", "hipStreamQuery"):
            self.call(name, c_void_p(stream.handle), wanted=DESTROYED)

    @rule(stream=streams)
    def synchronize(self, stream: Stream) -> None:
        if not stream.is_destroyed:
            self.call("hipStreamSynchronize", c_void_p(stream.handle))
            self.call("hipStreamQuery", c_void_p(stream.handle))

    @rule()
    def synchronize_all(self) -> None:
        self.call("hipDeviceSynchronize")

    @rule(target=events, is_timed=st.booleans())
    def create_event(self, is_timed: bool) -> Event:
        handle = c_void_p()
        self.call("hipEventCreateWithFlags", byref(handle), c_uint(0 if is_timed else EVENT_WITHOUT_TIME))
        assert handle.value is not None
        self.made.append(("hipEventDestroy", handle.value))
        return Event(handle.value, is_timed)

    @rule(event=events, stream=streams)
    def record(self, event: Event, stream: Stream) -> None:
        wanted = DESTROYED if stream.is_destroyed else INVALID_HANDLE if event.is_destroyed else SUCCESS
        self.call("hipEventRecord", c_void_p(event.handle), c_void_p(stream.handle), wanted=wanted)
        event.is_recorded |= wanted == SUCCESS

    @rule(event=events)
    def wait_for_event(self, event: Event) -> None:
        wanted = INVALID_HANDLE if event.is_destroyed else SUCCESS
        self.call("hipEventSynchronize", c_void_p(event.handle), wanted=wanted)
        self.call("hipEventQuery", c_void_p(event.handle), wanted=wanted)

    @rule(first=events, second=events)
    def elapsed(self, first: Event, second: Event) -> None:
        self.call("hipDeviceSynchronize")
        if not all(event.is_recorded and event.is_timed and not event.is_destroyed for event in (first, second)):
            arguments = byref(ctypes.c_float()), c_void_p(first.handle), c_void_p(second.handle)
            self.call("hipEventElapsedTime", *arguments, wanted=INVALID_HANDLE)
            return
        times = ctypes.c_float(), ctypes.c_float()
        for time, (one, other) in zip(times, ((first, second), (second, first)), strict=True):
            self.call("hipEventElapsedTime", byref(time), c_void_p(one.handle), c_void_p(other.handle))
        assert times[0].value == -times[1].value

    @rule(event=events)
    def destroy_event(self, event: Event) -> None:
        wanted = DESTROYED if event.is_destroyed else SUCCESS
        self.call("hipEventDestroy", c_void_p(event.handle), wanted=wanted)
        if not event.is_destroyed:
            self.made.remove(("hipEventDestroy", event.handle))
        event.is_destroyed = True

    @rule(target=graphs, written=st.lists(st.tuples(memories, st.integers(0, 255)), min_size=1, max_size=4))
    def capture(self, written: list[tuple[Memory, int]]) -> Any:
        """Fills of a stream, which do nothing yet."""
        written = [(memory, value) for memory, value in written if not memory.is_freed]
        stream, graph, ready = c_void_p(), c_void_p(), c_void_p()
        self.call("hipStreamCreateWithFlags", byref(stream), c_uint(1))
        self.call("hipStreamBeginCapture", stream, 0)
        for memory, value in written:
            size = c_size_t(len(memory.content))
            self.call("hipMemsetAsync", c_void_p(memory.pointer), value, size, stream)
        self.call("hipStreamEndCapture", stream, byref(graph))
        self.call("hipStreamDestroy", stream)
        count = c_size_t()
        self.call("hipGraphGetNodes", graph, None, byref(count))
        assert count.value == len(written)
        self.call("hipGraphInstantiate", byref(ready), graph, None, None, c_size_t(0))
        self.call("hipGraphDestroy", graph)
        assert ready.value is not None
        self.made.append(("hipGraphExecDestroy", ready.value))
        return Graph(ready.value, [(memory, 0, len(memory.content), value) for memory, value in written])

    @rule(graph=graphs, stream=streams)
    def launch_graph(self, graph: Graph, stream: Stream) -> None:
        if stream.is_destroyed or any(memory.is_freed for memory, *_ in graph.writes):
            return
        for memory in {id(memory): memory for memory, *_ in graph.writes}.values():
            self.order(memory, stream)
        self.call("hipGraphLaunch", c_void_p(graph.handle), c_void_p(stream.handle))
        for memory, begin, size, value in graph.writes:
            memory.content[begin : begin + size] = value

    # What is always so.

    @rule()
    def ask_for_the_last_error(self) -> None:
        assert self.api.hipPeekAtLastError() == self.last_error
        assert self.api.hipGetLastError() == self.last_error
        assert self.api.hipGetLastError() == SUCCESS
        self.last_error = SUCCESS

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


def sequences(count: int) -> None:
    options = settings(
        max_examples=count,
        stateful_step_count=30,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Sequences, settings=options)  # type: ignore[no-untyped-call]


def run(count: int, **variables: str) -> None:
    """In a process of its own, whose library nobody else has used."""
    code = f"import test_hip_api_sequences as tests; tests.sequences({count})"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", **variables}
    done = warm_python.run("-c", code, env=environment, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr


def test_sequences_of_calls() -> None:
    run(100)


@pytest.mark.long
@pytest.mark.parametrize("devices", ["1", "2"])
def test_many_sequences_of_calls(devices: str) -> None:
    run(5000, WAVE_RUNTIME_EMULATOR_DEVICES=devices)
