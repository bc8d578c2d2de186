"""Kernels with a planted mistake each, and how they are launched: kernels/mistakes.hip."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from support import PROBES

import wave_runtime

SOURCE = PROBES / "mistakes.hip"
TARGETS = ("gfx942", "gfx950", "gfx90a", "gfx1030", "gfx1100", "gfx1201")


@dataclass(frozen=True)
class Mistake:
    """Where a kernel's mistake is, and what it is called."""

    tool: str
    kind: str
    kernel: str
    line: int


# What cannot be told on a processor: a plain store beside an atomic is one of agent scope where both look alike; split
# barriers, conversions to FP8, workgroups on two compute units, and waves of 32 lanes not all have.
SPLIT_BARRIERS = ("signal_twice", "signal_without_wait", "wait_without_signal")
TWO_CACHES = ("barrier_without_release", "barrier_without_acquire")
OF_64_LANES = ("shuffle_of_64_lanes", "last_of_64_lanes")
FP8 = ("fp8_too_large", "bf8_too_large", "fp8_too_large_by_chance")
UNSEEN = {
    *((kernel, target) for kernel in ("atomic_beside_store", *FP8) for target in ("gfx90a", "gfx1030", "gfx1100")),
    *((kernel, target) for kernel in SPLIT_BARRIERS for target in TARGETS if target != "gfx1201"),
    *((kernel, target) for kernel in (*TWO_CACHES, *OF_64_LANES) for target in TARGETS if target.startswith("gfx9")),
}
# Launches that never end, which fail.
STUCK = ("deadlock", "endless-loop")


def planted() -> list[Mistake]:
    """All mistakes, from the comments of the source."""
    found = []
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if mark := re.search(r"// (\w+):([\w-]+) in (\w+)$", line):
            found.append(Mistake(mark[1], mark[2], mark[3], number))
    return found


def ints(*shape: int) -> torch.Tensor:
    """0, 1, 2 and so on, far from everything else: what lies a little past the end belongs to nobody."""
    count, far = torch.Size(shape).numel(), 1024
    around = np.zeros(count + 2 * far, dtype=np.int32)
    around[far : far + count] = np.arange(count)
    return torch.from_numpy(around[far : far + count]).reshape(shape)


# By kernel: its signature, its arguments but the last, and the grid.
LAUNCHES: dict[str, tuple[str, Callable[[], list[Any]], int]] = {
    "store_past_end": ("out: *i32, n: i32", lambda: [ints(10, 10), 100], 2),
    "load_far_past_end": ("in: *i32 const, out: *i32", lambda: [ints(64), ints(64)], 1),
    "load_past_end": ("in: *i32 const, out: *i32", lambda: [ints(64), ints(64)], 1),
    "store_to_const": ("in: *i32 const, out: *i32", lambda: [ints(64), ints(64)], 1),
    "atomic_not_aligned": ("out: *u8", lambda: [torch.zeros(64, dtype=torch.uint8)], 1),
    "lds_past_end": ("out: *i32, at: i32", lambda: [ints(64), 64], 1),
    "scratch_past_end": ("out: *i32, at: i32", lambda: [ints(64), 4096], 1),
    "store_inlined": ("out: *i32, n: i32", lambda: [ints(60), 60], 1),
    "lds_without_barrier": ("out: *i32", lambda: [ints(128)], 1),
    "lds_count_without_barrier": ("out: *i32", lambda: [ints(128)], 1),
    "load_without_wait": ("in: *i32 const, out: *i32", lambda: [ints(64), ints(64)], 1),
    "global_between_groups": ("out: *i32", lambda: [ints(128)], 2),
    "bytes_between_groups": ("out: *u8", lambda: [torch.zeros(128, dtype=torch.uint8)], 2),
    "global_between_waves": ("out: *i32", lambda: [ints(128)], 1),
    "barrier_without_release": ("data: *i32, out: *i32", lambda: [ints(128), ints(128)], 1),
    "barrier_without_acquire": ("data: *i32, out: *i32", lambda: [ints(128), ints(128)], 1),
    "flag_without_fence": ("data: *i32, flag: *i32, out: *i32", lambda: [ints(64), ints(1), ints(64)], 2),
    "atomic_beside_store": ("count: *i32", lambda: [ints(1)], 2),
    "loop_of_swaps": ("most: *f32, out: *i32", lambda: [torch.zeros(1), torch.full((64,), -1).int()], 2),
    "different_barriers": ("out: *i32", lambda: [ints(128)], 1),
    "root_of_negative": ("in: *f32 const, out: *f32", lambda: [torch.arange(64.0), torch.zeros(64)], 1),
    "product_too_large": ("in: *f32 const, out: *f32", lambda: [torch.arange(64.0), torch.zeros(64)], 1),
    "half_too_large": ("in: *f32 const, out: *f16", lambda: [torch.arange(64.0), torch.zeros(64).half()], 1),
    "doubles_too_large": (
        "in: *f64 const, out: *f64",
        lambda: [torch.arange(64.0).double(), torch.zeros(64).double()],
        1,
    ),
    "early_return": ("out: *i32", lambda: [ints(128)], 1),
    "flag_never_set": ("flag: *i32, out: *i32", lambda: [ints(1), ints(128)], 2),
    "lds_flag_never_set": ("out: *i32", lambda: [ints(128)], 1),
    "lock_taken_twice": ("lock: *i32, out: *i32", lambda: [ints(1), ints(2)], 2),
    "endless_loop": ("out: *i32", lambda: [ints(64)], 1),
    "signal_twice": ("out: *i32", lambda: [ints(128)], 1),
    "signal_without_wait": ("out: *i32", lambda: [ints(128)], 1),
    "wait_without_signal": ("out: *i32", lambda: [ints(128)], 1),
    "fp8_too_large": ("in: *f32 const, out: *i32", lambda: [torch.arange(64.0), ints(64)], 1),
    "bf8_too_large": ("in: *f32 const, out: *i32", lambda: [torch.arange(64.0), ints(64)], 1),
    "fp8_too_large_by_chance": ("in: *f32 const, out: *i32", lambda: [torch.arange(64.0), ints(64)], 1),
    "register_not_set": ("out: *i32", lambda: [ints(64)], 1),
    "lds_not_written": ("out: *i32", lambda: [ints(64)], 1),
    "branch_on_lds": ("out: *i32", lambda: [ints(64)], 1),
    "lanes_by_lds": ("out: *i32", lambda: [ints(64)], 1),
    "index_from_lds": ("in: *i32 const, out: *i32", lambda: [ints(64), ints(64)], 1),
    "array_not_filled": ("out: *i32, n: i32", lambda: [ints(64), 8], 1),
    "atomic_of_lds": ("out: *i32", lambda: [ints(64)], 1),
    "shuffle_of_64_lanes": ("out: *i32", lambda: [ints(64)], 1),
    "last_of_64_lanes": ("out: *i32", lambda: [ints(64)], 1),
}
LARGE = ("global_between_waves", "different_barriers", "early_return", "flag_never_set", "lds_flag_never_set")
LARGE_OF_LDS = ("lds_without_barrier", "lds_count_without_barrier")
BLOCKS = dict.fromkeys((*LARGE, *LARGE_OF_LDS, *TWO_CACHES, *SPLIT_BARRIERS), 128)


def launch(kernel: str, is_wrong: bool, target: str = "gfx942", image: bytes | None = None) -> list[Any]:
    """Launch a kernel of the file, or of an image of it, with its mistake or without. Returns the arguments."""
    signature, make, grid = LAUNCHES[kernel]
    image = (PROBES / f"mistakes_{target}.hsaco").read_bytes() if image is None else image
    module = wave_runtime.load(image, signature={kernel: f"{signature}, is_wrong: i32"})
    arguments = make()
    module[kernel](*arguments, int(is_wrong), grid=grid, block=BLOCKS.get(kernel, 64))
    return arguments
