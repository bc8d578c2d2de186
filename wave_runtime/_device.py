"""The devices that launches go to, and the targets that code is compiled for, by device."""

from __future__ import annotations

import functools

import torch

from wave_runtime import _C
from wave_runtime._torch import constant_result

# The processors whose device wave_runtime.emulate() has programs see, the last of them now; none outside of it.
emulations: list[str] = []


def emulated() -> str:
    """The target of code for CPU tensors where nothing else is said."""
    processors = _C.emulator_processors()
    return str(processors[emulations[-1]]["code"]) if emulations else "gfx942"


def has_gpu() -> bool:
    """Whether torch has a GPU that launches may go to. An emulated one's tensors are CPU tensors."""
    return not emulations and torch.cuda.is_available()


def resolve(device: torch.device) -> torch.device:
    """A GPU with its index. What :func:`wave_runtime.emulate` has programs see as one is the CPU.

    Raises:
        RuntimeError: the current GPU is asked for, and there is none.
    """
    if emulations:
        return torch.device("cpu")
    if device.index is not None:
        return device
    _check_gpu()
    return torch.device("cuda", torch.cuda.current_device())


def _check_gpu() -> None:
    if not torch.cuda.is_available():
        raise RuntimeError(
            'device "cuda": torch finds no GPU; "cpu" is the emulator, and within wave_runtime.emulate() "cuda" is, too'
        )


def target_of(device: torch.device | int) -> str:
    """The target of a GPU: "gfx942:sramecc+:xnack-", "sm_90"."""
    properties = torch.cuda.get_device_properties(device)
    # With CUDA, too, there is a gcnArchName, with the GPU's name in it.
    return str(properties.gcnArchName) if torch.version.hip else f"sm_{properties.major}{properties.minor}"


@constant_result
def target_for(device: torch.device) -> str:
    """The target of code for tensors on a device; on the CPU it is the emulator's.

    Raises:
        RuntimeError: the device is a GPU, and there is none.
    """
    if device.type != "cuda" or emulations:
        return emulated()
    return _target_of_gpu(resolve(device).index)


@functools.cache
def _target_of_gpu(index: int) -> str:
    _check_gpu()
    return target_of(index)
