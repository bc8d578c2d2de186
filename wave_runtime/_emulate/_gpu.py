"""The emulated GPU: which processor it has, how many there are, and which is the thread's current one."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import threading
from dataclasses import dataclass, field
from typing import Any

import torch

from wave_emulator import _hip, library
from wave_runtime import _C

CPU = torch.device("cpu")
# What a tensor that is known to be on the GPU says of its device. It equals CPU, and so torch takes it; which of the
# two a program passes on is known by identity.
HERE = torch.device("cpu")
_KERNEL_FAILED = (700, 719)  # hipErrorIllegalAddress, hipErrorLaunchFailure


class Thread(threading.local):
    """What a thread has chosen; a new one begins with the first GPU.

    Attributes:
        index: of its current GPU.
        streams: its current streams, by the GPU's index.
    """

    def __init__(self) -> None:
        self.index = 0
        self.streams: dict[int, Any] = {}


@dataclass(frozen=True, eq=False)
class Gpu:
    """The GPUs that a program sees: all of one kind.

    Attributes:
        name: of the processor: "gfx942".
        count: how many there are.
        figures: of the processor, as ``_C.emulator_processors`` says them.
        thread: what the calling thread has chosen of them.
    """

    name: str
    count: int
    figures: dict[str, Any]
    thread: Thread = field(default_factory=Thread)

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor number: (9, 4) of gfx942."""
        digits = re.fullmatch(r"gfx(\d+)([0-9a-f])[0-9a-f]", self.figures["code"])
        assert digits is not None
        return int(digits[1]), int(digits[2], 16)


def find(target: str, count: int = 1) -> Gpu:
    """The GPU with a processor. Raises ValueError, with those that there are."""
    processors = _C.emulator_processors()
    if target not in processors:
        raise ValueError(f"target={target!r}: the emulator has the processors {', '.join(sorted(processors))}")
    if not isinstance(count, int) or not 1 <= count <= _hip.MOST_DEVICES:
        raise ValueError(f"devices={count!r}: expected 1 to {_hip.MOST_DEVICES}")
    return Gpu(target, count, processors[target])


active: list[Gpu] = []  # the last is what programs see


def current() -> Gpu:
    """What programs see now; outside of emulate(), the emulator as the environment has it."""
    return active[-1] if active else _of_environment()


@functools.cache
def _of_environment() -> Gpu:
    return find(_C.emulator_processor())


def names_gpu(device: object) -> bool:
    """Whether a device, as torch's functions take it, is a GPU. Raises RuntimeError for an index beyond them."""
    index: int | None
    if device is HERE:
        return True
    if isinstance(device, torch.device):
        kind, index = device.type, device.index
    elif isinstance(device, str):
        kind, _, number = device.partition(":")
        index = int(number) if number.isdecimal() else None
    elif isinstance(device, int) and not isinstance(device, bool):
        kind, index = "cuda", device
    else:
        return False
    if kind != "cuda":
        return False
    if index is not None and not 0 <= index < current().count:
        raise RuntimeError(f"device cuda:{index}: invalid device ordinal, {current().count} emulated")
    return True


def index_of(device: object) -> int:
    """The index of the GPU that torch.cuda is asked about: the current one for None and for a CPU tensor's device, that
    of a context torch.cuda.device."""
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        device = device.index
    if isinstance(device, torch.cuda.device):
        device = device.idx
    if device is None:
        return current().thread.index
    assert isinstance(device, int)
    names_gpu(device)
    return device


def hip_library() -> ctypes.CDLL | None:
    """The emulator's HIP library, if something in the process has loaded it, such as an extension."""
    try:
        return _loaded()
    except OSError:
        return None


@functools.cache  # which keeps what is returned, and no error
def _loaded() -> ctypes.CDLL:
    return ctypes.CDLL(str(library("wave_hip_emulator")), mode=os.RTLD_NOLOAD)


def check_hip(what: str) -> None:
    """Raise RuntimeError where a kernel has failed that was launched by HIP: on a GPU whatever waits next says so."""
    hip = hip_library()
    if hip is not None and (error := hip.hipDeviceSynchronize()) in _KERNEL_FAILED:
        hip.hipGetErrorString.restype = ctypes.c_char_p
        text = hip.hipGetErrorString(error).decode()
        raise RuntimeError(f"{what}: HIP error: {text}: stderr has what an earlier kernel did")
