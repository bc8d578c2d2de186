"""What a HIP program needs, so that it runs on the emulator: the names of AMD's library, and the environment."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import os
import re
import sys
from pathlib import Path
from typing import NoReturn

from wave_emulator import library
from wave_emulator._cache_folder import cache_folder, make_folder

SEARCHED = "LD_LIBRARY_PATH"  # where the loader looks first
PROCESSOR, DEVICES = "WAVE_RUNTIME_EMULATOR_PROCESSOR", "WAVE_RUNTIME_EMULATOR_DEVICES"
BOUNDS = "WAVE_RUNTIME_EMULATOR_BOUNDS"
MOST_DEVICES = 64
ADVICE = "; a program with its arguments stands behind --, as in: -- ./program arguments"
RELEASES = ("", ".5", ".5.7", ".6", ".7")
NAMES = tuple(f"lib{name}.so{release}" for name in ("amdhip64", "hiprtc") for release in RELEASES)


class _Device(ctypes.Structure):
    """wave_device of wave_runtime.h."""

    _fields_ = (("driver", ctypes.c_int), ("index", ctypes.c_int32))


class _DeviceInfo(ctypes.Structure):
    """wave_device_info of wave_runtime.h."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("target", ctypes.c_char_p),
        ("multiprocessors", ctypes.c_uint32),
        ("max_block_size", ctypes.c_uint32),
        ("shared_memory", ctypes.c_uint32),
    )


def parse(parser: argparse.ArgumentParser, arguments: list[str] | None) -> argparse.Namespace:
    """Parse a command line. Ends the process where it does not fit.

    A command says by a default called ``advice`` where arguments that it does not know may belong.
    """
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{getattr(options, 'advice', '')}")
    return options


def link(folder: Path) -> list[Path]:
    """Make links to the library in a folder, which is made if it is missing: one for each release of HIP and hipRTC.

    The library that they load stands beside them, as the loader looks for it there. Links of ours that are there
    already lead to this package's library from then on. Raises FileExistsError where something else has a name.
    """
    make_folder(folder)
    emulator = library("wave_emulator")
    targets = {emulator.name: emulator, **dict.fromkeys(NAMES, library("wave_hip_emulator"))}
    for name, target in targets.items():
        _link(folder / name, target)
    return [folder / name for name in NAMES]


def devices(target: str | None, count: int | None, time_limit: float | None) -> dict[str, str]:
    """The variables that say which GPUs a process finds, and how many seconds a launch may take.

    None leaves a variable as it is in the environment.
    """
    limit = None if time_limit is None else repr(time_limit)
    given = {PROCESSOR: target, DEVICES: None if count is None else str(count), "WAVE_RUNTIME_TIME_LIMIT": limit}
    return {name: value for name, value in given.items() if value is not None}


def check_devices() -> None:
    """Raise ValueError where the environment says a processor or a number of devices that there is not."""
    count = os.environ.get(DEVICES) or "1"
    if not re.fullmatch("[0-9]{1,18}", count) or not 1 <= int(count) <= MOST_DEVICES:
        raise ValueError(f"{DEVICES}={count}: expected a whole number from 1 to {MOST_DEVICES} in decimal digits")
    launch = ctypes.CDLL(str(library("wave_launch")))  # reads the environment now
    launch.wave_error_message.restype = ctypes.c_char_p
    if launch.wave_device_get_info(_Device(0, 0), ctypes.byref(_DeviceInfo(ctypes.sizeof(_DeviceInfo)))) != 0:
        raise ValueError(launch.wave_error_message().decode())


def variables_for(program: str) -> dict[str, str]:
    """What the environment of an emulated program needs, so that it finds the library where it asks for AMD's.

    A program that was linked with AMD's library waits for its launches itself, so that none of them has to.
    """
    # One folder for each installed package, which other processes may be using, in whatever folder they run.
    digest = hashlib.sha256(os.fsencode(library("wave_hip_emulator"))).hexdigest()[:16]
    folder = cache_folder().absolute() / "hip" / digest
    try:
        link(folder)
    except OSError as error:
        raise OSError(f"{error}; name another folder for the links to the library in WAVE_RUNTIME_CACHE_DIR") from error
    folders = [str(folder), *filter(None, os.environ.get(SEARCHED, "").split(os.pathsep))]
    variables = {SEARCHED: os.pathsep.join(dict.fromkeys(folders))}
    return variables | ({"WAVE_RUNTIME_SYNC": "0"} if _is_linked_with_hip(program) else {})


def become(words: list[str]) -> NoReturn:
    """Run a program in the place of this process. Raises OSError, which names it, where that cannot be."""
    sys.stdout.flush()
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise OSError(f"{words[0]}: {error.strerror}") from None


def _is_linked_with_hip(program: str) -> bool:
    """Whether a file is a binary that names AMD's library."""
    with contextlib.suppress(OSError):
        content = Path(program).read_bytes()
        return content.startswith(b"\x7fELF") and b"libamdhip64.so" in content
    return False


def _link(path: Path, target: Path) -> None:
    if path.is_symlink() and path.readlink() == target:
        return
    if path.exists() and not path.is_symlink():
        raise FileExistsError(f"{path} is there, and is no link: name a folder without it")
    new = path.with_name(f".{path.name}-{os.getpid()}")
    new.symlink_to(target)
    new.replace(path)
