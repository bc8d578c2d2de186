"""The targets that code is compiled for, by device."""

from __future__ import annotations

import functools

import torch

from wave_runtime._torch import constant_result

EMULATED = "gfx942"


def target_of(device: torch.device | int) -> str:
    """The target of a GPU: "gfx942:sramecc+:xnack-", "sm_90"."""
    properties = torch.cuda.get_device_properties(device)
    # With CUDA, too, there is a gcnArchName, with the GPU's name in it.
    return str(properties.gcnArchName) if torch.version.hip else f"sm_{properties.major}{properties.minor}"


@constant_result
def target_for(device: torch.device) -> str:
    """The target of code for tensors on a device; on the CPU it is the emulator's."""
    if device.type != "cuda":
        return EMULATED
    return _target_of_gpu(torch.cuda.current_device() if device.index is None else device.index)


@functools.cache
def _target_of_gpu(index: int) -> str:
    return target_of(index)
