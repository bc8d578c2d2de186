"""Files that outlive a process: what was compiled, and the times that were measured."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import socket
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from wave_emulator._cache_folder import make_folder
from wave_runtime._environment import size

T = TypeVar("T")

_LOCK_SECONDS = 600.0
_MOST_VARIANTS = 16  # of what one request was compiled to, as headers changed to and fro
_OLD_SECONDS = 24 * 3600.0  # of locks and unfinished files: nobody uses them any more
_FOLDERS = ("requests", "results", "locks")
_DIGEST = re.compile("[0-9a-f]{64}")
_not_made: set[Path] = set()  # folders that could not be made, of which was warned
_RACE_NS = 2_000_000_000  # two changes of a file may bear the same time if they are as close as this


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that other processes see whole, or not at all; only its owner may read it."""
    make_folder(path.parent)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as file:
        try:
            file.write(data)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(file.name).unlink()
            raise


def size_limit() -> int:
    """Bytes that the compiled kernels may take: ``WAVE_RUNTIME_CACHE_SIZE``, "500M", "2G"; by default 1 GiB.

    Raises:
        ValueError: the variable is set to something that is no size.
    """
    return size("WAVE_RUNTIME_CACHE_SIZE", "1G")


@dataclass(frozen=True)
class Dependency:
    """A file that was compiled, and what it was then.

    Attributes:
        stat: size, times of change of contents and inode in nanoseconds, inode; None where it is too young to tell.
        digest: SHA-256 of the contents.
    """

    path: str
    stat: tuple[int, int, int, int] | None
    digest: str

    @staticmethod
    def of(path: str) -> Dependency:
        """A file as it is now. Raises OSError."""
        found = _stat_of(path)
        is_settled = time.time_ns() - max(found[1], found[2]) > _RACE_NS
        return Dependency(path, found if is_settled else None, _digest_of(path))

    def is_same(self) -> bool:
        """Whether the file still has those contents."""
        return self.renewed() is not None

    def renewed(self) -> Dependency | None:
        """The file as it is now, where it still has those contents: once it is old enough, a look at it will do."""
        try:
            if self.stat is not None and _stat_of(self.path) == self.stat:
                return self
            now = Dependency.of(self.path)
        except (OSError, ValueError):  # ValueError: no file can have such a path
            return None
        return now if now.digest == self.digest else None

    @staticmethod
    def read(item: object) -> Dependency:
        """The entry that the JSON of a manifest describes. Raises ValueError."""
        match item:
            case [str(path), None, str(digest)]:
                return Dependency(path, None, digest)
            case [str(path), [int(size), int(modified), int(changed), int(inode)], str(digest)]:
                return Dependency(path, (size, modified, changed, inode), digest)
        raise ValueError("not a path, its state and a digest")


def _stat_of(path: str) -> tuple[int, int, int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _digest_of(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@dataclass(frozen=True)
class Kept(Generic[T]):
    """What a request gave, and the files that it was made of."""

    value: T
    dependencies: tuple[Dependency, ...]


@dataclass(frozen=True)
class _Variant:
    """An entry of a request's manifest: the hash of a result, and the files that it was made of."""

    files: tuple[Dependency, ...]
    result: str

    @staticmethod
    def read(item: object) -> _Variant:
        """The dependency that a list in JSON describes. Raises ValueError."""
        match item:
            case {"files": [*files], "result": str(result)} if _DIGEST.fullmatch(result):
                return _Variant(tuple(map(Dependency.read, files)), result)
        raise ValueError("not an entry of a manifest")

    def as_json(self) -> dict[str, object]:
        return {"files": [[file.path, file.stat, file.digest] for file in self.files], "result": self.result}


class Cache:
    """What requests gave. Of a request it keeps a list of results with the files that each was made of; the results
    lie under the hash of their contents.

    Whatever is damaged or cannot be read counts as missing. Where the folder cannot be made, nothing is kept, with one
    RuntimeWarning; where a result cannot be written, as on a full disk, it is not kept, with a RuntimeWarning; where
    others can write to the folder, or to one in it, that is not used, with a RuntimeWarning.

    Attributes:
        usable: whether anything is kept there, and read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        size_limit()  # a wrong one is an error now, rather than behind a compilation
        self.usable = _is_trusted(folder)

    def get(
        self, request: str, build: Callable[[], tuple[bytes, Sequence[str]]], read: Callable[[bytes], T]
    ) -> Kept[T]:
        """What a request gives. It is read where it is kept; else it is built now, and kept.

        Args:
            request: a hash of all that the result depends on, but files.
            build: returns the contents, and the paths of the files that they were made of. It runs in one process at a
                time for a request. What it raises is raised, and nothing is kept.
            read: what the contents say. A ValueError says that they are damaged; they are built anew.

        Raises:
            TimeoutError: another process has been building the same for ten minutes; the message names it.
        """
        found = self._find(request, read)
        if found is not None:
            return found
        with self._lock(request) as locked:
            if locked and (found := self._find(request, read)) is not None:
                return found
            data, paths = build()
            kept = Kept(read(data), tuple(Dependency.of(path) for path in paths))
            if locked:
                self._try_to_keep(request, data, kept.dependencies)
        return kept

    def _manifest(self, request: str) -> Path:
        return self._folder / "requests" / request[:2] / f"{request}.json"

    def _result(self, digest: str) -> Path:
        return self._folder / "results" / digest[:2] / digest

    def _variants(self, request: str) -> list[_Variant]:
        try:
            found = json.loads(_read_own(self._manifest(request)))
        except (OSError, ValueError, RecursionError):
            return []
        variants = []
        for item in found if isinstance(found, list) else []:
            with contextlib.suppress(ValueError):
                variants.append(_Variant.read(item))
        return variants

    def _find(self, request: str, read: Callable[[bytes], T]) -> Kept[T] | None:
        if not self.usable:
            return None
        for variant in reversed(self._variants(request)):
            if not all(file.is_same() for file in variant.files):
                continue
            path = self._result(variant.result)
            try:
                data = _read_own(path)
                if hashlib.sha256(data).hexdigest() != variant.result:
                    continue
                value = read(data)
            except (OSError, ValueError):
                continue
            for used in (path, self._manifest(request)):
                with contextlib.suppress(OSError):
                    os.utime(used)  # the least recently used goes first
            return Kept(value, variant.files)
        return None

    def _try_to_keep(self, request: str, data: bytes, files: tuple[Dependency, ...]) -> None:
        try:
            self._keep(request, data, files)
        except OSError as error:
            warnings.warn(
                f"compiled kernels are not kept: cannot write to {self._folder}: {error.strerror}; name another folder "
                "in WAVE_RUNTIME_CACHE_DIR",
                RuntimeWarning,
                stacklevel=2,
            )

    def _keep(self, request: str, data: bytes, files: tuple[Dependency, ...]) -> None:
        new = _Variant(files, hashlib.sha256(data).hexdigest())
        write_atomically(self._result(new.result), data)
        variants = [*(variant for variant in self._variants(request) if variant.files != files), new]
        text = json.dumps([variant.as_json() for variant in variants[-_MOST_VARIANTS:]])
        write_atomically(self._manifest(request), text.encode())
        self._remove_old()

    @contextlib.contextmanager
    def _lock(self, request: str) -> Iterator[bool]:
        """Holds a request's lock, which the system frees when its holder ends. False: there can be none."""
        file = _locked(self._folder / "locks" / request) if self.usable else None
        if file is None:
            yield False
            return
        with file:
            try:
                yield True
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open, too

    def _remove_old(self) -> None:
        """Remove what exceeds the limit, and files that nobody will finish."""
        folders = [self._folder / name for name in _FOLDERS]
        files = [(path, path.stat()) for folder in folders for path in folder.rglob("*") if path.is_file()]
        now = time.time()
        limit = size_limit()
        left = sum(stat.st_size for _, stat in files)
        for path, stat in sorted(files, key=lambda item: item[1].st_mtime):
            is_waste = path.parent.name == "locks" or path.name.startswith(".new-")
            if now - stat.st_mtime > _OLD_SECONDS if is_waste else left > limit:
                with contextlib.suppress(OSError):
                    path.unlink()
                    left -= stat.st_size


def _is_trusted(folder: Path) -> bool:
    """Whether nobody but this user and root can have put code there. A folder that does not exist yet is made."""
    try:
        make_folder(folder)
    except OSError as error:
        if folder not in _not_made:
            _not_made.add(folder)
            warnings.warn(
                f"compiled kernels are not kept: cannot make the folder {folder}: {error.strerror}; name another "
                "folder in WAVE_RUNTIME_CACHE_DIR",
                RuntimeWarning,
                stacklevel=2,
            )
        return False
    for path in (folder, *(folder / name for name in _FOLDERS)):
        if path.exists() and not _is_own(stat := path.stat()):
            warnings.warn(
                f"compiled kernels are not kept: others than you can write to {path} (owner {stat.st_uid}, mode "
                f"{stat.st_mode & 0o777:o}); remove or chmod it, or name another folder in WAVE_RUNTIME_CACHE_DIR",
                RuntimeWarning,
                stacklevel=2,
            )
            return False
    return True


def _is_own(stat: os.stat_result) -> bool:
    """Whether only this user and root can write there."""
    return stat.st_uid in (os.getuid(), 0) and not stat.st_mode & 0o022


def _read_own(path: Path) -> bytes:
    """The contents of a file in a folder that only this user can write to. Raises OSError."""
    if not _is_own(path.parent.stat()):
        raise PermissionError(f"others can write to {path.parent}")
    return path.read_bytes()


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _locked(path: Path) -> Any:
    """The lock's file, once it is this process's. None where there can be none."""
    end = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            make_folder(path.parent)
            file = open(path, "a+", opener=_open_for_owner)  # noqa: SIM115  the caller closes it
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read() or "another process"
            file.close()
            if time.monotonic() > end:
                raise TimeoutError(f"{holder} has been compiling the same for {_LOCK_SECONDS:.0f} s: {path}") from None
            time.sleep(0.02)
            continue
        except OSError:
            file.close()
            return None
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                file.truncate(0)
                file.write(f"process {os.getpid()} of {socket.gethostname()}")
                file.flush()
                return file
        file.close()  # it was removed in between
