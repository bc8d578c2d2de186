"""Races between launches on streams of the HIP library that nothing orders: what orders them, and what does not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python
from support import PROBES, ROOT

import wave_emulator
import wave_runtime

# Without torch: as C programs call the library. One launch writes what another reads; the scenario orders them, or not.
PROGRAM = f"""
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
def call(name, *arguments):
    code = getattr(hip, name)(*arguments)
    assert code == 0, (name, code)
def made(name, *arguments):
    result = ctypes.c_void_p()
    call(name, ctypes.byref(result), *arguments)
    return result
module = made("hipModuleLoad", {os.fsencode(PROBES / "unwritten_gfx942.hsaco")!r})
size = ctypes.c_size_t(4096)
first, second, out = (made("hipMalloc", size) for _ in range(3))
def launch(name, stream, *arguments, grid=1):
    kernel = made("hipModuleGetFunction", module, name)
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
    call("hipModuleLaunchKernel", kernel, grid, 1, 1, 64, 1, 1, 0, stream, pointers, None)
def write(stream, to=first):
    launch(b"fill_below", stream, to, ctypes.c_int(64))
def write_bytes(of_one, of_other):  # 64 each, on two streams, from these on
    call("hipMemset", second, 1, size); call("hipMemset", out, 2, size); call("hipDeviceSynchronize")
    launch(b"copy_bytes", one, second, ctypes.c_void_p(first.value + of_one))
    launch(b"copy_bytes", other, out, ctypes.c_void_p(first.value + of_other))
def read(stream, of=first):
    launch(b"add", stream, of, out)
def stream(flags=0):
    return made("hipStreamCreateWithFlags", flags)
def event():
    return made("hipEventCreateWithFlags", 0)
one, other, free = stream(), stream(), stream(1)
def captured(work, stream):
    g, nodes, count = ctypes.c_void_p(), (ctypes.c_void_p * 1)(), ctypes.c_size_t(1)
    call("hipStreamBeginCapture", stream, 0); work(stream); call("hipStreamEndCapture", stream, ctypes.byref(g))
    call("hipGraphGetNodes", g, nodes, ctypes.byref(count))
    return g, nodes
def launch_graph(g, stream):
    call("hipGraphLaunch", made("hipGraphInstantiate", g, None, None, ctypes.c_size_t(0)), stream)
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# Races.

def nothing():
    write(one); read(other)
def read_first():
    read(one); write(other)
def beside_null():
    write(None); read(free)
def event_of_before():
    e = event(); call("hipEventRecord", e, one); write(one); call("hipStreamWaitEvent", other, e, 0); read(other)
def wrong_stream_is_waited_for():
    write(one); call("hipStreamSynchronize", free); read(other)
def other_memory_is_no_excuse():
    write(one, second); write(one); read(other)
def graph():
    call("hipStreamBeginCapture", one, 0); write(one); g = ctypes.c_void_p()
    call("hipStreamEndCapture", one, ctypes.byref(g))
    ready = made("hipGraphInstantiate", g, None, None, ctypes.c_size_t(0))
    call("hipGraphLaunch", ready, one); read(other)
def event_of_a_graph_of_before():
    g, writes = captured(write, one); e = event()
    made("hipGraphAddEventRecordNode", g, writes, ctypes.c_size_t(1), e)
    launch_graph(g, one); launch(b"count", one, first); call("hipStreamWaitEvent", other, e, 0); read(other)
def one_byte_of_a_dword():
    write_bytes(1, 64)
def behind_two_readers():
    call("hipDeviceSynchronize"); read(one, second); read(other, second); call("hipStreamSynchronize", one)
    write(free, second)

# None.

def one_stream():
    write(one); read(one)
def null_stream():
    write(one); read(None); write(other)
def by_event():
    write(one); e = event(); call("hipEventRecord", e, one); call("hipStreamWaitEvent", other, e, 0); read(other)
def by_event_that_is_done():
    write(one); e = event(); call("hipEventRecord", e, one)
    while hip.hipEventQuery(event()) or hip.hipStreamQuery(free): pass
    import time; time.sleep(0.3)
    call("hipStreamWaitEvent", other, e, 0); read(other)
def by_three_streams():
    write(one); e = event(); call("hipEventRecord", e, one); call("hipStreamWaitEvent", free, e, 0)
    f = event(); call("hipEventRecord", f, free); call("hipStreamWaitEvent", other, f, 0); read(other)
def by_event_of_a_graph():
    g, writes = captured(write, one); e = event()
    made("hipGraphAddEventRecordNode", g, writes, ctypes.c_size_t(1), e)
    launch_graph(g, one); call("hipStreamWaitEvent", other, e, 0); read(other)
def by_a_graph_that_waits():
    g, reads = captured(read, other); e = event(); write(one); call("hipEventRecord", e, one)
    wait = made("hipGraphAddEventWaitNode", g, None, ctypes.c_size_t(0), e)
    call("hipGraphAddDependencies", g, ctypes.byref(wait), reads, ctypes.c_size_t(1)); launch_graph(g, other)
def by_stream_synchronize():
    write(one); call("hipStreamSynchronize", one); read(other)
def by_device_synchronize():
    write(one); call("hipDeviceSynchronize"); read(other)
def by_event_synchronize():
    write(one); e = event(); call("hipEventRecord", e, one); call("hipEventSynchronize", e); read(other)
def by_query():
    write(one)
    while hip.hipStreamQuery(one): pass
    read(other)
def by_copy():
    write(one); e = event(); call("hipEventRecord", e, one); call("hipStreamWaitEvent", free, e, 0)
    call("hipMemcpyAsync", ctypes.create_string_buffer(64), first, ctypes.c_size_t(64), 2, free); read(other)
def by_host_function():
    import threading
    done = threading.Event(); function = HOST(lambda _: done.set())
    write(one); call("hipLaunchHostFunc", one, function, None); done.wait(); read(other)
    call("hipDeviceSynchronize")
def by_value():
    flag = ctypes.c_void_p(second.value + 2048)
    write(one); call("hipStreamWriteValue32", one, flag, 5, 0)
    call("hipStreamWaitValue32", other, flag, 5, 1, 0xffffffff); read(other)
def by_value_of_a_kernel():
    write(one); launch(b"fill_below", one, second, ctypes.c_int(64))
    call("hipStreamWaitValue32", other, second, 7, 1, 0xffffffff); read(other)
def by_copy_that_waits():
    write(one)
    call("hipMemcpyWithStream", ctypes.create_string_buffer(64), first, ctypes.c_size_t(64), 2, one); read(other)
def by_fill_that_waits():
    pinned = made("hipHostMalloc", size, 0); write(one); call("hipMemset", pinned, 0, size); read(free)
def by_host_memory():
    flag = made("hipHostMalloc", size, 0)
    write(one); launch(b"fill_below", one, flag, ctypes.c_int(64))
    while ctypes.c_int.from_address(flag.value + 252).value != 7: pass
    import time; time.sleep(0.3)
    read(other)
def two_readers():
    read(one); launch(b"add", other, first, second)
def other_bytes_of_a_dword():
    write_bytes(1, 65)
def other_memory():
    write(one, first); write(other, second)
def by_freeing():
    write(one); call("hipFree", second); read(other)
def atomics():
    launch(b"count", one, first); launch(b"count", other, first)
def destroyed_stream():
    s = stream(); write(s); call("hipStreamDestroy", s); read(other)

for scenario in sys.argv[2:]:
    globals()[scenario]()
    call("hipDeviceSynchronize")
"""

# Two contexts, one behind the other: what is known in the first, and that it has given up, ends with it.
SESSIONS = """
import wave_runtime
def findings(work):
    with wave_runtime.sanitize("races") as report:
        call("hipMemset", first, 0, size)
        work()
        call("hipDeviceSynchronize")
    return [finding.kind for finding in report.findings]
def gives_up():
    call("hipStreamWriteValue32", one, ctypes.c_void_p(second.value + 2048), 5, 0)
for i in range(3):  # a new one may lie where an old one was
    print(*(findings(work) for work in (gives_up, nothing, lambda: write(one), lambda: read(other))))
"""

# Each element is written by a work-item of its own, in a grid and workgroups of several dimensions; one is read.
PLACES = """
#define KERNEL extern "C" __attribute__((global)) void
KERNEL write_all(int* to) {
  const int across = __builtin_amdgcn_workgroup_id_x() + 3 * __builtin_amdgcn_workgroup_id_y();
  const int group = across + 12 * __builtin_amdgcn_workgroup_id_z();
  to[group * 162 + __builtin_amdgcn_workitem_id_x() + 81 * __builtin_amdgcn_workitem_id_y()] = 1;
}
KERNEL read_one(const int* from, int* to, int place) {
  if (__builtin_amdgcn_workitem_id_x() == 40) to[0] = from[place];
}
"""
READ_A_PLACE = """
import wave_runtime
def launch_in(name, stream, grid, block, *arguments):
    kernel = made("hipModuleGetFunction", module, name)
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
    call("hipModuleLaunchKernel", kernel, *grid, *block, 0, stream, pointers, None)
memory, place = made("hipMalloc", ctypes.c_size_t(4 * 24 * 162)), int(sys.argv.pop())
with wave_runtime.sanitize("races") as report:
    launch_in(b"write_all", one, (3, 4, 2), (81, 2, 1), memory)
    launch_in(b"read_one", other, (1, 1, 1), (64, 1, 1), memory, out, ctypes.c_int(place))
    call("hipDeviceSynchronize")
(found,) = report.findings
sites = {found.kernel: found.at, ({"write_all", "read_one"} - {found.kernel}).pop(): found.other}
print(found.kind, found.count, (found.address - memory.value) // 4)
for name in ("write_all", "read_one"):
    print(sites[name].symbol.split("+")[0], *sites[name].workgroup, sites[name].wave, sites[name].lane)
"""

KINDS = (("add", "read"), ("fill_below", "written"))


def scenarios(heading: str) -> list[str]:
    part = PROGRAM.split(f"# {heading}.")[1].split("# None.")[0]
    return [line[4:].split("(")[0] for line in part.splitlines() if line.startswith("def ")]


def run(scenario: str, tools: str = "races", **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, str(wave_emulator.library("wave_hip_emulator")), scenario],
        env={**os.environ, "PYTHONPATH": str(ROOT), "WAVE_RUNTIME_SANITIZE": tools, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stderr


@pytest.mark.parametrize("scenario", scenarios("Races"))
def test_a_race_is_found(scenario: str) -> None:
    told = run(scenario)
    assert "[races:launch-race]" in told
    assert told.count("unwritten.hip:") >= 2  # both lines
    assert "nothing orders the two" in told


@pytest.mark.parametrize("scenario", scenarios("None"))
def test_what_orders_launches(scenario: str) -> None:
    assert run(scenario) == ""


def test_other_tools_do_not_look() -> None:
    assert run("nothing", "memory,waits") == ""


def test_contexts_begin_anew() -> None:
    # torch first: some builds of it do not bear a library of C++ before them.
    program = "import torch\n" + PROGRAM + SESSIONS
    done = warm_python.run("-c", program, wave_emulator.library("wave_hip_emulator"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[] ['launch-race'] [] []"] * 3


def test_both_sides_are_named() -> None:
    """Whichever of them ran first."""
    told = run("nothing")
    found = [
        re.search(rf"{kind} by (?:a launch|one) of kernel '{kernel}' on stream (\d+)", told) for kernel, kind in KINDS
    ]
    assert len({match and match[1] for match in found} - {None}) == 2


def test_streams_have_the_numbers_in_which_they_were_made() -> None:
    """Whatever streams devices have of their own, and threads."""
    told = run("beside_null", WAVE_RUNTIME_EMULATOR_DEVICES="3")
    assert "on the null stream" in told
    assert "on stream 3" in told


@pytest.mark.each_value
@pytest.mark.needs("clang")
@pytest.mark.parametrize(("target", "lanes"), [("gfx942", 64), ("gfx1100", 32)])
@pytest.mark.parametrize(("group", "item"), [(13, 161), (8, 64)])
def test_both_places_are_told(target: str, lanes: int, group: int, item: int, tmp_path: Path) -> None:
    """The address, and of each side the workgroup, the wave and the lane; a scalar load is of no lane."""
    file, place = tmp_path / "places.hsaco", group * 162 + item
    file.write_bytes(wave_runtime.compile(PLACES, language="hip", target=target).images[target])
    program = PROGRAM.replace(repr(os.fsencode(PROBES / "unwritten_gfx942.hsaco")), repr(os.fsencode(file)))
    program = "import torch\n" + program.replace("sys.argv[2:]", "[]") + READ_A_PLACE
    done = subprocess.run(
        [sys.executable, "-c", program, wave_emulator.library("wave_hip_emulator"), str(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "WAVE_RUNTIME_EMULATOR_PROCESSOR": target},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"launch-race 1 {place}",
        f"write_all {group % 3} {group // 3 % 4} {group // 12} {item // lanes} {item % lanes}",
        f"read_one 0 0 0 {40 // lanes} None",
    ]
