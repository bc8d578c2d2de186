"""What takes the place of wave-lang's launch: tensors that are not contiguous, with strides and without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support import EXAMPLES

import wave_runtime
from wave_runtime.wave_lang._cpu import invoke

SHAPE = (10, 100)


def options(**given: Any) -> SimpleNamespace:
    """As wave-lang's, of a kernel that adds 1,000 elements as if they were contiguous."""
    launch = SimpleNamespace(
        shared_memory_bytes=98304,  # more than there is: compilers count before they share memory
        grid=lambda sizes: [4, 1, 1],
        blocks=[256, 1, 1],
        cluster_dims=[1, 1, 1],
        func_name="vector_add",
    )
    return SimpleNamespace(kernel_launch_info=launch, **given)


def added(given: SimpleNamespace, a: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    _, function = wave_runtime.load_binary(str(EXAMPLES / "binaries" / "basics.hsaco"), "vector_add")
    invoke(given, [a, torch.ones(SHAPE)], [out], [1000], {}, [], function)
    return out


OLDER = options()
DENSE = options(dynamic_strides=True, linearize_reads=True, allow_noncontiguous_runtime_buffers=False)
STRIDED = options(dynamic_strides=True, linearize_reads=True, allow_noncontiguous_runtime_buffers=True)
NOT_LINEAR = options(dynamic_strides=True, linearize_reads=False, allow_noncontiguous_runtime_buffers=False)


@pytest.mark.parametrize("given", [OLDER, DENSE], ids=["older", "dense"])
def test_a_kernel_that_assumes_dense_tensors_gets_them(given: SimpleNamespace) -> None:
    for a in (torch.randn(100, 10).T, torch.randn(10, 200)[:, :100], torch.randn(10, 200)[:, ::2]):
        assert torch.equal(added(given, a, torch.zeros(SHAPE)), a + 1)


@pytest.mark.parametrize("given", [OLDER, DENSE], ids=["older", "dense"])
@pytest.mark.parametrize("out", [torch.zeros(100, 10).T, torch.zeros(10, 200)[:, :100]])
def test_an_output_that_would_be_lost_is_refused(given: SimpleNamespace, out: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="expected a contiguous tensor"):
        added(given, torch.ones(SHAPE), out)
    assert not out.any()


@pytest.mark.parametrize("given", [STRIDED, NOT_LINEAR], ids=["strided", "not linear"])
def test_strides_are_passed_as_they_are(given: SimpleNamespace) -> None:
    """A view of columns is passed itself, whose storage the kernel of this test reads as if it were contiguous."""
    storage = torch.randn(10, 200)
    out = added(given, storage[:, :100], torch.zeros(SHAPE))
    assert torch.equal(out.flatten(), storage.flatten()[:1000] + 1)


@pytest.mark.parametrize("given", [STRIDED, NOT_LINEAR], ids=["strided", "not linear"])
def test_the_last_stride_is_none_that_is_passed(given: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match=r"'vector_add', tensor 0: .* whose last dimension is; given .* \[1, 10\]"):
        added(given, torch.randn(100, 10).T, torch.zeros(SHAPE))
