"""What the emulator does not run is what its documentation lists."""

from __future__ import annotations

import re

from support import ROOT

from wave_runtime import _C

INSTRUCTIONS = {row["base_name"] for row in _C.isa_rows("gfx942")}
IMPLEMENTED = set(_C.implemented_instructions())


def test_documentation_lists_what_is_left_out() -> None:
    section = (ROOT / "docs" / "emulator.md").read_text().split("## Instructions")[1].split("\n## ")[0]
    listed = {
        name for line in section.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+_\w+)`", line)
    }
    assert listed == INSTRUCTIONS - IMPLEMENTED


def test_readme_counts_them() -> None:
    counts = f"runs {len(INSTRUCTIONS & IMPLEMENTED):,} of gfx942's {len(INSTRUCTIONS):,} instructions"
    assert counts in (ROOT / "README.md").read_text()
