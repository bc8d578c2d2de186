"""Random sequences of calls of the HIP library on the emulator, beside a model of memory and of what calls return."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import warm_python
from hip_graph_sequences import GraphSequences
from hip_sequences import EVENT_WITHOUT_TIME, INVALID_VALUE, SUCCESS, Memory, Stream
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    consumes,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)
from support import ROOT

INVALID_HANDLE, DESTROYED = 400, 709
PER_THREAD = 2  # hipStreamPerThread
KINDS = st.sampled_from([0, 1, 2, 3, 4])
SIZES = st.integers(1, 5000)


@dataclass(eq=False)
class Event:
    handle: int
    is_timed: bool
    is_recorded: bool = False
    is_destroyed: bool = False


class Sequences(GraphSequences):
    """Each call's code is what docs/hip_emulator.md says, and each byte what the calls before have made of it."""

    freed = Bundle("freed")
    events = Bundle("events")
    memories, streams = GraphSequences.memories, GraphSequences.streams

    # Memory. hipMemset returns before its fill in the null stream is done, for which other streams need not wait.

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

    # Streams and events; graphs are GraphSequences'.

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

    # What is always so.

    @rule()
    def ask_for_the_last_error(self) -> None:
        assert self.api.hipPeekAtLastError() == self.last_error
        assert self.api.hipGetLastError() == self.last_error
        assert self.api.hipGetLastError() == SUCCESS
        self.last_error = SUCCESS


class Graphs(GraphSequences):
    """Memory and streams are there, so that what remains is graphs, and launches of them."""

    memories, streams = GraphSequences.memories, GraphSequences.streams

    @initialize(target=memories)
    def allocate(self) -> Any:
        memories = []
        for name, sizes in (("hipMalloc", (4, 17, 640)), ("hipHostMalloc", (3, 200))):
            for size in sizes:
                pointer = c_void_p()
                self.call(name, byref(pointer), c_size_t(size), c_uint(0))
                memories.append(self.add(pointer, size, is_host=name == "hipHostMalloc"))
        return multiple(*memories)

    @initialize(target=streams)
    def create_streams(self) -> Any:
        handles = [self.new("hipStreamCreateWithFlags", c_uint(flags)) for flags in (0, 1)]
        self.made += [("hipStreamDestroy", handle) for handle in handles]
        return multiple(*map(Stream, handles), Stream(PER_THREAD))


def sequences(name: str, count: int) -> None:
    options = settings(
        max_examples=count,
        stateful_step_count=30,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    machine = {"calls": Sequences, "graphs": Graphs}[name]
    run_state_machine_as_test(machine, settings=options)  # type: ignore[no-untyped-call]


def run(name: str, count: int, **variables: str) -> None:
    """In a process of its own, whose library nobody else has used."""
    code = f"import test_hip_api_sequences as tests; tests.sequences({name!r}, {count})"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", **variables}
    done = warm_python.run("-c", code, env=environment, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["calls", "graphs"])
def test_sequences_of_calls(name: str) -> None:
    run(name, 100)


@pytest.mark.long
@pytest.mark.parametrize("devices", ["1", "2"])
@pytest.mark.parametrize("name", ["calls", "graphs"])
def test_many_sequences_of_calls(name: str, devices: str) -> None:
    run(name, 5000, WAVE_RUNTIME_EMULATOR_DEVICES=devices)
