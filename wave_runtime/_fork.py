"""What is safe beside fork(): locks that a child does not find taken by a thread that only its parent has, and programs
whose output no child keeps open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any


class Lock:
    """A lock that its holder may take again. In a child of fork() it is free, unless the forking thread holds it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Called in a child: frees the lock if a thread holds it that the child does not have."""
        if not self._lock._is_owned():  # type: ignore[attr-defined]
            self._lock = threading.RLock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


_starting = threading.RLock()  # the thread that forks holds it meanwhile


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program, as ``subprocess.Popen`` does, while no other thread forks.

    A child that was forked between the making of a pipe and its hand-over would have it open, too: whoever reads what
    the program writes would wait for the end of that child, which may wait for a lock of the reader's.

    Where the process ignores SIGCHLD, which programs inherit, and of which the system tells nobody how its children
    have ended, ``communicate`` knows it all the same, and the program itself can wait for its own.
    """
    with _starting:
        return (_Relayed if _ignores_children() else subprocess.Popen)(command, **options)


def _ignores_children() -> bool:
    """Whatever has made it so: Python knows of its own handlers only."""
    with open("/proc/self/status", "rb") as status:
        (ignored,) = (line.split()[1] for line in status if line.startswith(b"SigIgn:"))
    return bool(int(ignored, 16) >> (signal.SIGCHLD - 1) & 1)


# Runs a program, and writes its exit status to a pipe.
_RELAY = """
import os, signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
os.write(int(sys.argv[1]), b"%d" % subprocess.call(sys.argv[2:]))
"""


class _Relayed(subprocess.Popen[bytes]):
    """A program whose status another process tells, which waits for it."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        reading, writing = os.pipe()
        self._status = open(reading, "rb")  # noqa: SIM115 (communicate() closes it)
        try:
            relay = [sys.executable, "-I", "-S", "-c", _RELAY, str(writing)]
            super().__init__([*relay, *command], pass_fds=[writing], **options)
        finally:
            os.close(writing)

    def communicate(self, *arguments: Any, **options: Any) -> tuple[bytes, bytes]:
        outputs = super().communicate(*arguments, **options)
        with self._status:
            self.returncode = int(self._status.read() or b"-1")
        return outputs


os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_starting.release)
os.register_at_fork(after_in_child=_renew_all)
