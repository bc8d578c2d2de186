"""All tools of the sanitizer over Triton kernels that are correct: each finding is a false alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import test_triton_kernels as tests
import torch

import wave_runtime


def check_in_place(kernels: Any) -> None:
    """Four warps for 64 elements: those that are left over load what the others store."""
    x = torch.arange(41.0, device="cuda")
    kernels.double_in_place[(1,)](x, 41, BLOCK=64, num_warps=4)
    assert torch.equal(x, 2 * torch.arange(41.0, device="cuda"))


PROGRAMS: dict[str, Callable[[Any], None]] = {
    "add": tests.check_add,
    "softmax": tests.test_softmax,
    "layer norm": tests.test_layer_norm,
    "matmul": lambda kernels: tests.check_matmul(kernels, torch.float16),
    "attention": tests.test_attention,
    "histogram": tests.test_atomics,
    "addresses": tests.test_addresses_in_memory,
    "descriptors": tests.test_tensor_descriptors,
    "in place": check_in_place,
}
SHORT = {("gfx942", name) for name in ("softmax", "matmul", "attention", "in place")} | {
    ("gfx1201", "softmax"),
    ("gfx1201", "matmul"),
    ("gfx1100", "in place"),
    ("gfx1201", "in place"),
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
