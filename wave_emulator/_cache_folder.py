"""Where files that outlive a process are kept."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def cache_folder() -> Path:
    """Where files are kept: ``WAVE_RUNTIME_CACHE_DIR``, else ``wave_runtime`` in the user's cache folder.

    For a user who has no home, as some of containers, it is a folder that nobody can make.
    """
    if folder := os.environ.get("WAVE_RUNTIME_CACHE_DIR"):
        return Path(folder)
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder, "wave_runtime")
    try:
        return Path.home() / ".cache" / "wave_runtime"
    except RuntimeError:
        return Path(os.devnull, "wave_runtime")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone, whatever the umask."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True, mode=0o700)


@contextlib.contextmanager
def new_folder_for(path: Path) -> Iterator[Path]:
    """A folder that is not there yet, beside a path whose content is made in it; what is left of it is removed."""
    make_folder(path.parent)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as folder:
        yield Path(folder) / "made"


def keep(made: Path, path: Path) -> None:
    """Move a whole folder to its place, where no other process was first."""
    with contextlib.suppress(OSError):
        made.rename(path)
