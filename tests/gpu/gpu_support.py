"""What the tests on GPUs share."""

from __future__ import annotations

import os

import pytest
import torch


def need_nvidia(gpus: int = 1) -> None:
    """Skip a test where there are fewer NVIDIA GPUs; fail it where WAVE_RUNTIME_REQUIRE asks for them."""
    found = torch.cuda.device_count() if torch.version.cuda is not None else 0
    if found >= gpus:
        return
    message = f"needs {gpus} NVIDIA GPU{'s' * (gpus > 1)} and a torch built for CUDA; found {found}"
    if "cuda" in os.environ.get("WAVE_RUNTIME_REQUIRE", "").split(","):
        pytest.fail(f"{message}, but WAVE_RUNTIME_REQUIRE=cuda")
    pytest.skip(message)
