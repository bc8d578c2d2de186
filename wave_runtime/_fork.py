"""Locks that are safe to use after fork(): a child does not find them taken by a thread that only its parent has."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


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


os.register_at_fork(after_in_child=_renew_all)
