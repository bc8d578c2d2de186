"""What torch.compile and torch.export are asked while they trace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from wave_runtime._torch import constant_result


class _Thread(threading.local):
    stand_ins = 0  # how many operators' bodies run on compilers' stand-ins


_thread = _Thread()


@constant_result
def is_exporting() -> bool:
    """Whether torch.export traces what runs now.

    Where torch before 2.12 traces ``torch.compiler.is_exporting``, the answer is always yes: hence this function.
    """
    return torch.compiler.is_exporting() and not _thread.stand_ins


@contextmanager
def on_stand_ins() -> Iterator[None]:
    """A context in which an operator's body only tells compilers what its results look like: nobody traces it."""
    _thread.stand_ins += 1
    try:
        yield
    finally:
        _thread.stand_ins -= 1
