"""What the tests on GPUs share."""

from __future__ import annotations

import torch
from support import absent


def need_nvidia(gpus: int = 1) -> None:
    """Skip a test where there are fewer NVIDIA GPUs; fail it where WAVE_RUNTIME_REQUIRE asks for them."""
    found = torch.cuda.device_count() if torch.version.cuda is not None else 0
    if found < gpus:
        absent("cuda", f"needs {gpus} NVIDIA GPU{'s' * (gpus > 1)} and a torch built for CUDA; found {found}")
