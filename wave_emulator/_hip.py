"""What a HIP program needs, so that it runs on the emulator: the names of AMD's library, and the environment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import NoReturn

from wave_emulator import library
from wave_emulator._cache_folder import cache_folder, make_folder

SEARCHED = "LD_LIBRARY_PATH"  # where the loader looks first
NAMES = tuple(f"lib{name}.so{release}" for name in ("amdhip64", "hiprtc") for release in ("", ".5", ".6", ".7"))


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


def devices(target: str, count: int, time_limit: float | None) -> dict[str, str]:
    """The variables that say which GPUs a process finds, and how many seconds a launch may take."""
    limit = {} if time_limit is None else {"WAVE_RUNTIME_TIME_LIMIT": repr(time_limit)}
    return {"WAVE_RUNTIME_EMULATOR_PROCESSOR": target, "WAVE_RUNTIME_EMULATOR_DEVICES": str(count), **limit}


def variables_for(program: str) -> dict[str, str]:
    """What the environment of an emulated program needs, so that it finds the library where it asks for AMD's.

    A program that was linked with AMD's library waits for its launches itself, so that none of them has to.
    """
    # One folder for each installed package, which other processes may be using.
    folder = cache_folder() / "hip" / hashlib.sha256(os.fsencode(library("wave_hip_emulator"))).hexdigest()[:16]
    link(folder)
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
