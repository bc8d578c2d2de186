"""Where a program launches a kernel, and what it calls the tensors there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import torch

from wave_runtime._sanitize._findings import Frame

_MOST = 8  # frames outwards from the launch in which a tensor's name is looked for


def _folders() -> tuple[str, ...]:
    """Of packages whose frames are not the program's."""
    found = [str(Path(__file__).parent.parent), str(Path(torch.__file__).parent)]
    spec = find_spec("triton")
    if spec is not None and spec.origin is not None:
        found.append(str(Path(spec.origin).parent))
    return tuple(folder + os.sep for folder in found)


_OTHERS = _folders()


def frames() -> list[FrameType]:
    """The program's own frames, the innermost first."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < _MOST:
        if not frame.f_code.co_filename.startswith((*_OTHERS, "<frozen")):
            found.append(frame)
        frame = frame.f_back
    return found


def place(of: list[FrameType]) -> Frame | None:
    """The innermost of frames, as a place in the source."""
    if not of:
        return None
    return Frame(of[0].f_code.co_name, of[0].f_code.co_filename, of[0].f_lineno)


def variable(of: list[FrameType], address: int) -> str | None:
    """What the program calls the tensor whose elements begin at an address; None where no local name has it."""
    for frame in of:
        for name, value in _tensors(frame):
            if _address(value) == address:
                return name
    return None


def _tensors(frame: FrameType) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in list(frame.f_locals.items()):
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, torch.nn.Module):
            for own, tensor in (*value.named_parameters(), *value.named_buffers()):
                yield f"{name}.{own}", tensor


def _address(tensor: torch.Tensor) -> int | None:
    try:
        return tensor.data_ptr()
    except RuntimeError:  # of a compiler's stand-in, or one without memory
        return None
