"""The floor: a C loop over cuLaunchKernel."""

from __future__ import annotations

import ctypes
import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from launchers import build
from launchers.cases import BLOCK, Launch
from launchers.measure import Launcher, warm_up

SOURCE = Path(__file__).parent.parent / "launch_floor.cpp"

# By name: whether the arguments are passed as one buffer. The floor is the faster of the two.
FORMS = {
    "C loop over cuLaunchKernel, kernelParams": False,
    "C loop over cuLaunchKernel, extra buffer": True,
}

# Functions that return at once, each in a cache line of its own: what it costs to fetch code that the driver's has
# driven out of the caches.
CODE_LINES = (64, 128)


class FloorLaunch(ctypes.Structure):
    """``FloorLaunch`` in launch_floor.cpp."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("grid", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
        ("arguments", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
        ("offsets", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
        ("as_buffer", ctypes.c_uint32),
        ("code_lines", ctypes.c_uint32),
    )


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled loop."""
    folder = Path(tempfile.mkdtemp(prefix="launch_floor."))
    functions = ctypes.CDLL(str(build.shared_library(SOURCE, folder / "launch_floor.so")))
    for function in (functions.floor_load, functions.floor_seconds):
        function.restype = ctypes.c_char_p
    functions.floor_load.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    functions.floor_seconds.argtypes = [
        ctypes.POINTER(FloorLaunch),
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_double),
    ]
    return functions


def check(message: bytes | None) -> None:
    """Raise what a function of the library returned."""
    if message:
        raise RuntimeError(message.decode())


class Loop:
    """The loop over one launch, in one of its forms."""

    def __init__(self, function: ctypes.c_void_p, launch: Launch, as_buffer: bool, code_lines: int = 0) -> None:
        packed, offsets = launch.packed()
        # The record only points to these.
        self.arguments = (ctypes.c_uint8 * len(packed)).from_buffer(packed)
        self.offsets = (ctypes.c_uint64 * len(offsets))(*offsets)
        self.record = FloorLaunch(
            function,
            launch.stream,
            launch.grid,
            BLOCK,
            ctypes.addressof(self.arguments),
            len(packed),
            ctypes.addressof(self.offsets),
            len(offsets),
            as_buffer,
            code_lines,
        )

    def seconds(self, calls: int, threads: int) -> float:
        """A ``Timer``."""
        result = ctypes.c_double()
        check(library().floor_seconds(self.record, calls, warm_up(calls), threads, result))
        return result.value


def floor(launch: Launch) -> Iterator[Launcher]:
    """The loop, in its two forms, and with more code to run between the launches than there is in it."""
    function = ctypes.c_void_p()
    check(library().floor_load(launch.binary, launch.case.name.encode(), function))
    for name, as_buffer in FORMS.items():
        yield Launcher(name, "floor", Loop(function, launch, as_buffer).seconds)
    for lines in CODE_LINES:
        name = f"C loop and {lines} cache lines of code"
        yield Launcher(name, "probe", Loop(function, launch, True, lines).seconds)


PROVIDERS = {"C loop over cuLaunchKernel": floor}
