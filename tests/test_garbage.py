"""Circles through what the extension makes: the collector finds them, as those through Python's own objects."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import support
import torch

import wave_runtime
from wave_runtime import _C


def kernel() -> wave_runtime.Kernel:
    signature = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}
    return wave_runtime.load(support.EXAMPLES / "binaries" / "basics.hsaco", signature=signature)["vector_add"]


@pytest.fixture(autouse=True, scope="module")
def _only_what_is_new() -> Iterator[None]:
    """The collector looks at what these tests make, not at all that the process has."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def bound(tensor: torch.Tensor) -> Any:
    n = tensor.numel()
    return kernel().bind(torch.ones(n), torch.ones(n), tensor, n, grid=1, block=64)


def bound_with_itself() -> Any:
    tensor = torch.zeros(16)
    tensor.launch = bound(tensor)  # type: ignore[attr-defined]
    return tensor.launch  # type: ignore[attr-defined]


def sequence_with_itself() -> Any:
    tensor = torch.zeros(16)
    tensor.launch = wave_runtime.sequence([bound(tensor)])  # type: ignore[attr-defined]
    return tensor.launch  # type: ignore[attr-defined]


def called_sequence_with_itself() -> Any:
    sequence = sequence_with_itself()
    sequence()
    return sequence


def operator_with_itself() -> Any:
    operator: Any = None

    def body() -> None:
        operator()

    operator = _C.OperatorBase(body, body)
    return operator


def derived_operator_with_itself() -> Any:
    class Derived(_C.OperatorBase):
        pass

    operator = Derived(print, print)
    operator.__init__(lambda: operator, print)  # type: ignore[misc]
    return operator


def declared_with_itself() -> Any:
    default: list[Any] = []
    declared = _C.declare(
        "test_garbage::add",
        kernel(),
        inputs=[0, 1, 2, 3],
        results=[],
        computed=[],
        names=["a", "b", "c", "n"],
        defaults={"n": default},
        options={"block": 64},
        specialize=print,
        fallback=lambda *_: declared,
    )
    default.append(declared)
    return declared


@pytest.mark.parametrize(
    "make",
    [
        bound_with_itself,
        sequence_with_itself,
        called_sequence_with_itself,
        operator_with_itself,
        derived_operator_with_itself,
        declared_with_itself,
    ],
)
def test_circles_are_collected(make: Callable[[], Any]) -> None:
    gc.collect()
    made = weakref.ref(make())
    assert made() is not None
    gc.collect()
    assert made() is None


def test_what_is_in_use_is_not_collected() -> None:
    launch = bound_with_itself()
    sequence = wave_runtime.sequence([launch, launch])
    gc.collect()
    sequence()
    launch()
    assert launch[2].tolist() == [2.0] * 16


def test_a_changed_argument_is_let_go() -> None:
    launch = bound(torch.zeros(16))
    before = torch.zeros(16)
    launch[2] = before
    gone = weakref.ref(before)
    launch[2] = torch.zeros(16)
    del before
    gc.collect()
    assert gone() is None


def test_the_collector_sees_kernels() -> None:
    made = kernel()
    assert gc.is_tracked(made)
    assert type(made) in gc.get_referents(made)
