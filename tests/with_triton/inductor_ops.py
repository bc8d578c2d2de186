"""Operators of torch's own database, in Inductor's Triton kernels for an emulated GPU, against torch itself.

    python tests/with_triton/inductor_ops.py FIRST LAST [--target gfx942]

Runs those from FIRST up to LAST of a fixed random order of all operators and types, and prints each that differs. What
Inductor's C++ kernels do in the same way does not count: it is Inductor's. A process of its own, since torch's own
tests change what holds for all of it when they are imported.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map_only

import wave_runtime

TYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool)
# Results that nobody has written, that are there on GPUs only, or whose order is free where values are equal.
NOT_COMPARED = ("empty", "new_empty", "as_strided", "jiterator", "argsort", "sort", "topk")
SAMPLES = 3


def chosen() -> list[tuple[Any, torch.dtype]]:
    """All operators with each of their types, in an order that stays the same for a release of torch."""
    pairs = [
        (op, dtype)
        for op in op_db
        for dtype in TYPES
        if dtype in op.supported_dtypes("cpu") and not op.name.startswith(NOT_COMPARED)
    ]
    random.Random(0).shuffle(pairs)
    return pairs


def outcome(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """What a function returns, or the name of the error that it raises; its arguments stay as they are."""
    args, options = tree_map_only(torch.Tensor, torch.clone, (args, options))
    torch.manual_seed(7)
    try:
        return function(*args, **options)
    except wave_runtime.KernelFault:
        raise
    except Exception as error:
        return type(error).__name__


def difference(one: Any, other: Any, dtype: torch.dtype) -> str:
    """What differs between two outcomes, beyond rounding; or nothing."""
    if isinstance(one, str) or isinstance(other, str):
        return "" if isinstance(one, str) and one == other else f"{str(one)[:200]} rather than {str(other)[:200]}"
    allowed = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {}
    try:
        torch.testing.assert_close(one, other, equal_nan=True, check_dtype=False, **allowed)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def mistake(op: Any, dtype: torch.dtype, target: str) -> str:
    """How an operator differs on the emulator, from torch and from Inductor's C++ kernels; or nothing."""

    def call(*args: Any, **options: Any) -> Any:
        return op(*args, **options)

    def compiled(*args: Any, **options: Any) -> Any:
        torch._dynamo.reset()
        return torch.compile(call)(*args, **options)

    torch.manual_seed(0)
    samples = list(op.sample_inputs("cpu", dtype))
    random.Random(1).shuffle(samples)
    for sample in samples[:SAMPLES]:
        args, options = (sample.input, *sample.args), sample.kwargs
        expected = outcome(call, args, options)
        with wave_runtime.emulate(target, inductor=True):
            found = outcome(compiled, args, options)
        if difference(found, expected, dtype) and difference(found, outcome(compiled, args, options), dtype):
            return difference(found, expected, dtype)
    return ""


def main() -> None:
    """Print what differs, and how many operators ran."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("first", type=int)
    arguments.add_argument("last", type=int)
    arguments.add_argument("--target", default="gfx942")
    options = arguments.parse_args()
    launched = 0

    def count(_: Any) -> None:
        nonlocal launched
        launched += 1

    with wave_runtime.hooks.launch_hook(enter=count):
        pairs = chosen()[options.first : options.last]
        for op, dtype in pairs:
            if text := mistake(op, dtype, options.target):
                print(f"{op.full_name} of {dtype}: {text}", flush=True)
    print(f"{len(pairs)} operators, {launched} launches")


if __name__ == "__main__":
    main()
