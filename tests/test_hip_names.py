"""The names of the HIP library over the emulator: each is of a release of HIP, and behaves as that does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

RELEASES = """
import ctypes, sys, threading
hip = ctypes.CDLL(sys.argv[1])
version, data, attributes = ctypes.c_int(), ctypes.c_void_p(), (ctypes.c_int * 10)()
assert hip.hipRuntimeGetVersion(ctypes.byref(version)) == 0
assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(64), 0) == 0
assert hip.hipPointerGetAttributes(attributes, data) == 0
host = attributes[0]
unknown = hip.hipPointerGetAttributes(attributes, ctypes.byref(version))
assert hip.hipSetDevice(99) == 101 and hip.hipSetDevice(0) == 0
errors = hip.hipPeekAtLastError(), hip.hipExtGetLastError(), hip.hipGetLastError()
graph, node, kind = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
assert hip.hipGraphCreate(ctypes.byref(graph), 0) == 0
assert hip.hipGraphAddEmptyNode(ctypes.byref(node), graph, None, ctypes.c_size_t(0)) == 0
assert hip.hipGraphNodeGetType(node, ctypes.byref(kind)) == 0
ready = threading.Event()
wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: ready.wait() and None)
assert hip.hipLaunchHostFunc(None, wait, None) == 0 and hip.hipStreamQuery(None) == 600
print(version.value // 10_000_000, host, unknown, attributes[0], *errors, hip.hipGetLastError(), kind.value)
ready.set()
assert hip.hipDeviceSynchronize() == 0
"""


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("libamdhip64.so", "6 1 0 0 0 0 0 600 5"),
        ("libamdhip64.so.5", "5 0 1 0 0 0 0 600 6"),
        ("libamdhip64.so.5.7", "5 0 1 0 0 0 0 600 5"),
        ("libamdhip64.so.6", "6 1 0 0 0 0 0 600 5"),
        ("libamdhip64.so.7", "7 1 0 0 101 0 101 0 5"),
    ],
)
def test_the_name_says_whose_interface_it_is(tmp_path: Path, name: str, answers: str) -> None:
    """The release, hipMemoryTypeHost, and what is said of memory that HIP does not know, which changed with 6; and last
    hipGraphNodeTypeEmpty, which changed between 5.2 and 5.7.

    Before 7 hipGetLastError returned what the last function returned; since then the last error, of which that
    something is not ready is none.
    """
    command = [sys.executable, "-m", "wave_emulator", "link", tmp_path / "hip"]
    links = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert str(tmp_path / "hip" / name) in links
    done = subprocess.run([sys.executable, "-c", RELEASES, tmp_path / "hip" / name], capture_output=True, text=True)
    assert done.stdout.strip() == answers, done.stderr


def test_links_replace_no_files(tmp_path: Path) -> None:
    (tmp_path / "libamdhip64.so.6").write_text("AMD's")
    command = [sys.executable, "-m", "wave_emulator", "link", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, "libamdhip64.so.6 is there, and is no link" in done.stderr) == (2, True)
    assert (tmp_path / "libamdhip64.so.6").read_text() == "AMD's"
