"""Counts what launches do, and says where a kernel loses its time: see docs/profile.md."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wave_runtime import _C
from wave_runtime._files import write_file

if TYPE_CHECKING:
    from wave_runtime._profile._counts import GpuLaunch, KernelProfile

__all__ = ["Profile", "from_environment", "profile"]

VARIABLE = "WAVE_RUNTIME_PROFILE"
SUFFIXES = (".html", ".json", ".csv")  # of what a profile is saved as


class Profile:
    """A profile that :func:`profile` has begun, with what it has counted so far.

    It ends when its context is left, or with :meth:`stop`.
    """

    def __init__(self) -> None:
        from wave_runtime._profile import _gpu  # it and the other modules are imported when they are needed

        self._session: _C.ProfileSession | None = _C.begin_profile()
        self._gpu = _gpu.Timer()
        self._kept: list[dict[str, Any]] = []

    @property
    def kernels(self) -> list[KernelProfile]:
        """The kernels that were launched on the emulator, in order, each with the sum of its launches."""
        from wave_runtime._profile._counts import described

        raw = self._kept if self._session is None else self._session.kernels()
        return [described(kernel) for kernel in raw]

    @property
    def gpu_launches(self) -> list[GpuLaunch]:
        """The launches on GPUs, in order, with their times. Waits for launches that have not ended."""
        return self._gpu.launches()

    def stop(self) -> None:
        """Stop counting. A second call does nothing."""
        if self._session is not None:
            self._session.end()
            self._kept = self._session.kernels()
            self._session = None
            self._gpu.stop()

    def table(self, by: str = "kernel", limit: int = 20) -> str:
        """The counts as text.

        Args:
            by: what a row is: "kernel", "line" (of the source) or "instruction".
            limit: how many rows to show, those with most instructions first.

        Raises:
            ValueError: ``by`` is none of these.
        """
        from wave_runtime._profile import _text

        return _text.table(self.kernels, self.gpu_launches, by, limit)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all counts to a file: a page for a browser (.html), or .json or .csv for tools (docs/profile.md).

        Raises:
            ValueError: the suffix is none of these.
            OSError: the file cannot be written.
        """
        write_file(Path(path), writer_for(path)(self.kernels, self.gpu_launches).encode())

    def __enter__(self) -> Profile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<wave_runtime.profile of {len(self.kernels)} kernels>"


def profile() -> Profile:
    """Count what launches do, from now on: instructions, lanes, bytes and bank conflicts.

        with wave_runtime.profile() as p:
            model(x)
        print(p.table())
        p.save("profile.html")

    It begins at the call and lasts until the context is left. It counts launches of all threads of the process, and of
    the HIP library in it, by kernel, line and instruction. Within another profile only the inner one counts.

    The counts are exact, for launches on the emulator. Of launches on a GPU there are the times, by the driver's
    events; the GPU's own counters are not read.
    """
    return Profile()


def writer_for(path: str | os.PathLike[str]) -> Callable[[list[KernelProfile], list[GpuLaunch]], str]:
    """What makes the contents of a file, by its suffix. Raises ValueError where that says nothing."""
    from wave_runtime._profile import _export, _page

    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise ValueError(f"{os.fspath(path)}: a profile is saved as {', '.join(SUFFIXES)}")
    return {".html": _page.page, ".json": _export.as_json_text, ".csv": _export.as_csv}[suffix]


def from_environment() -> None:
    """Profile the process where WAVE_RUNTIME_PROFILE names a file: it is written at its end, and a table to stderr.

    Raises ValueError where it names none.
    """
    path = os.environ.get("WAVE_RUNTIME_PROFILE")
    if not path:
        return
    if Path(path).suffix not in SUFFIXES:
        expected = f"a file whose name ends in {', '.join(SUFFIXES)}"
        raise ValueError(f"{VARIABLE}={path}: expected {expected}, for instance {VARIABLE}=profile.html")
    os.environ.pop(VARIABLE)  # processes that this one starts would write the same file
    begun = Profile()

    def end() -> None:
        begun.stop()
        if not begun.kernels and not begun.gpu_launches:
            return
        try:
            begun.save(path)
        except OSError as error:
            print(f"{VARIABLE}={path}: {error}", file=sys.stderr)
        print(begun.table(), file=sys.stderr)

    atexit.register(end)
