"""The sanitizer's tool for what nobody wrote: what is a use of it, what is none, and where it was read."""

from __future__ import annotations

import mistakes
import pytest

import wave_runtime

WHAT = {"register": "register v", "lds": "LDS", "scratch": "scratch"}
PLANTED = [mistake for mistake in mistakes.planted() if mistake.tool == "uninitialized"]


@pytest.mark.parametrize("mistake", PLANTED, ids=lambda mistake: mistake.kernel)
def test_a_finding_names_where_it_was_read(mistake: mistakes.Mistake) -> None:
    with wave_runtime.sanitize("uninitialized") as report:
        mistakes.launch(mistake.kernel, True)
    (finding,) = report.findings
    assert WHAT[finding.kind] in finding.message
    if finding.other is not None:
        reads = ("v_",) if finding.kind == "register" else ("ds_read", "flat_load", "scratch_load")
        assert finding.other.instruction.startswith(reads)
