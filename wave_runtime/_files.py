"""Files that are written because somebody asked for them."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file.

    Raises:
        OSError: it cannot be written; the message names it, which Python's own does not do of a full disk.
    """
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise type(error)(error.errno, f"cannot write {path}: {error.strerror}") from error


def check_writable(path: str | Path) -> None:
    """Raise the OSError of :func:`write_file` where it can be known: for what is written after hours."""
    path = Path(path)
    if path.is_dir():
        code = errno.EISDIR
    elif not path.parent.is_dir():
        code = errno.ENOENT
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        code = errno.EACCES
    else:
        return
    raise OSError(code, f"cannot write {path}: {os.strerror(code)}")
