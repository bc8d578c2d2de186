"""Files that are written because somebody asked for them."""

from __future__ import annotations

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
