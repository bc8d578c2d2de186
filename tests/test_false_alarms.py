"""All tools of the sanitizer over the example kernels, which have no mistakes but those that are known."""

from __future__ import annotations

import pytest
from catalog import CATALOG, Example
from support import KNOWN_FINDINGS

import wave_runtime


@pytest.mark.parametrize("example", CATALOG, ids=lambda example: str(example.name))
def test_an_example_has_no_mistake(example: Example) -> None:
    with wave_runtime.sanitize(fail=True, suppressions=KNOWN_FINDINGS):
        example.check(*example.sizes[0])


@pytest.mark.parametrize("name", ["gelu_f32", "moe_gemm_top2"])
def test_what_is_known_is_found(name: str) -> None:
    """Nobody lists what is no longer there."""
    example = next(example for example in CATALOG if example.name == name)
    with wave_runtime.sanitize("races", "numbers", suppressions=KNOWN_FINDINGS) as report:
        example.check(*example.sizes[0])
    assert report.suppressed > 0
