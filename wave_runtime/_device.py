"""GPUs as torch knows them."""

from __future__ import annotations

import torch


def target_of(device: torch.device | int) -> str:
    """What code for a GPU is built for: "gfx942:sramecc+:xnack-", "sm_90"."""
    properties = torch.cuda.get_device_properties(device)
    # With CUDA, too, there is a gcnArchName, with the GPU's name in it.
    return str(properties.gcnArchName) if torch.version.hip else f"sm_{properties.major}{properties.minor}"
