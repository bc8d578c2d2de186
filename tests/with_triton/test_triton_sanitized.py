"""All tools of the sanitizer over Triton kernels that are correct: each finding is a false alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import test_triton_kernels as tests
import torch

import wave_runtime

PROGRAMS: dict[str, Callable[[Any], None]] = {
    "add": tests.check_add,
    "softmax": tests.test_softmax,
    "layer norm": tests.test_layer_norm,
    "matmul": lambda kernels: tests.check_matmul(kernels, torch.float16),
    "attention": tests.test_attention,
    "histogram": tests.test_atomics,
    "addresses": tests.test_addresses_in_memory,
    "descriptors": tests.test_tensor_descriptors,
}
SHORT = {("gfx942", name) for name in ("softmax", "matmul", "attention")} | {
    ("gfx1201", "softmax"),
    ("gfx1201", "matmul"),
}


@pytest.fixture
def kernels(target: str) -> Iterator[Any]:
    """The module of kernels, with a processor emulated, and looked at."""
    import triton_kernels

    with wave_runtime.emulate(target), wave_runtime.sanitize(fail=True):
        yield triton_kernels


@pytest.mark.parametrize(
    ("target", "name"),
    [
        pytest.param(target, name, marks=[] if (target, name) in SHORT else [pytest.mark.long])
        for target in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
        for name in PROGRAMS
    ],
)
def test_a_program_has_no_mistake(kernels: Any, name: str) -> None:
    PROGRAMS[name](kernels)
