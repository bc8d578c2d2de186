"""The documentation's Python examples run, each page's in one process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import free_port
from requirements import need
from support import ROOT

NEEDS_CLANG = pytest.mark.needs("clang")

PAGES = (
    "README.md",
    "docs/autograd.md",
    pytest.param("docs/compile.md", marks=NEEDS_CLANG),
    pytest.param("docs/compile_kernel.md", marks=NEEDS_CLANG),
    pytest.param("docs/cupy.md", marks=NEEDS_CLANG),
    "docs/distributed.md",
    "docs/export.md",
    "docs/gpu.md",
    "docs/hip_emulator.md",
    pytest.param("docs/launchable.md", marks=NEEDS_CLANG),
    "docs/operators.md",
    pytest.param("docs/pyhip.md", marks=NEEDS_CLANG),
    "docs/upstream.md",
    pytest.param("docs/vendors.md", marks=NEEDS_CLANG),
)

# What torchrun tells a process, here the only one.
RANKS = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}


@pytest.mark.parametrize("page", PAGES)
def test_examples(page: str, tmp_path: Path) -> None:
    """A line whose comment begins with an error's name raises it."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    if any("wave_lang.kernel" in block for block in blocks):
        need("wave-lang")
    code = re.sub(r"^(\S.*)  # (\w+(?:Error|Fault)):.*$", expect_error, "".join(blocks), flags=re.MULTILINE)
    ranks = (
        {**RANKS, "MASTER_PORT": str(free_port())} if "init_device_mesh" in code or "init_process_group" in code else {}
    )
    environment = {**os.environ, **ranks, "PYTHONPATH": str(ROOT), "WAVE_CACHE_ON": "0"}
    script = tmp_path / "page.py"  # a file: wave-lang reads the source of what it compiles
    script.write_text(code)
    done = subprocess.run([sys.executable, script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def expect_error(line: re.Match[str]) -> str:
    return (
        f"try:\n    {line[1]}\nexcept Exception as error:\n    assert type(error).__name__ == '{line[2]}', error\n"
        "else:\n    raise AssertionError('nothing was raised')"
    )
