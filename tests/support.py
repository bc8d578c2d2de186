"""Names that several tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import wave_runtime

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "kernels"
PROBES = ROOT / "tests" / "emulator" / "kernels"

LoadKernel = Callable[..., wave_runtime.Kernel]
