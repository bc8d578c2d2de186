"""Builds kernels.hsaco; needs what examples/kernels/build.py needs for HIP."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent.parent / "examples" / "kernels"))

from build import build_hip  # noqa: E402


def main(output: Path = FOLDER / "kernels.hsaco") -> None:
    """Build it."""
    build_hip(FOLDER / "kernels.cu", output)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
