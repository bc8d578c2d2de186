"""FlyDSL, unmodified, on an emulated GPU: its runtime launches by HIP's library, which is the emulator's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import warm_python
from requirements import need
from support import ROOT


@pytest.mark.needs("flydsl")
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_a_kernel(target: str, tmp_path: Path) -> None:
    linker = tmp_path / "rocm" / "llvm" / "bin" / "ld.lld"  # where it looks for one
    linker.parent.mkdir(parents=True)
    linker.symlink_to(need("lld"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ROCM_PATH": str(tmp_path / "rocm"),
        "ARCH": target,
        "FLYDSL_GPU_ARCH": target,
        "FLYDSL_RUNTIME_CACHE_DIR": str(tmp_path / "cache"),
    }
    program = (sys.executable, ROOT / "tests" / "flydsl_program.py")
    done = warm_python.run("-m", "wave_runtime", "emulate", "--target", target, "--", *program, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"right on {target}")
