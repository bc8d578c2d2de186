"""How one of AITER's kernels is launched and compared with torch, and which kernels a folder lists."""

from __future__ import annotations

import contextlib
import csv
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

import wave_runtime

Value = torch.Tensor | int | float
Row = dict[str, str]


@dataclass(frozen=True)
class Launch:
    """One launch.

    Attributes:
        arguments: the members of the launcher's KernelArgs, in their order.
        grid: workgroups.
        results: what the kernel writes, [m, n] each.
        expected: what torch makes of them, side by side.
        scratch: what the kernel writes besides.
        block: work-items of a workgroup.
        slack: bytes behind each input, which kernels read that load ahead.
        others: what the kernel reads besides, by pointers in memory.
        is_tight: arguments stand one behind the other, and do not take 16 bytes each.
        found: what to compare with `expected`, where that is made of the results.
    """

    arguments: list[Value]
    grid: tuple[int, int, int]
    results: tuple[torch.Tensor, ...]
    expected: torch.Tensor
    scratch: tuple[torch.Tensor, ...] = ()
    block: int = 256
    slack: int = 0
    found: Callable[[], torch.Tensor] | None = None
    others: tuple[torch.Tensor, ...] = ()
    is_tight: bool = False

    def with_slack(self) -> list[Value]:
        """The arguments, with copies of the inputs that have slack."""
        written = {tensor.data_ptr() for tensor in (*self.results, *self.scratch)}
        return [
            torch.cat([value.contiguous().view(-1).view(torch.uint8), torch.zeros(self.slack, dtype=torch.uint8)])
            if isinstance(value, torch.Tensor) and self.slack and value.data_ptr() not in written
            else value
            for value in self.arguments
        ]

    def packed(self, arguments: list[Value]) -> bytes:
        """As the launcher's struct has them."""
        slots = []
        for value in arguments:
            if isinstance(value, torch.Tensor):
                slots.append(struct.pack("Q", value.data_ptr()))
            else:
                slots.append(struct.pack("f" if isinstance(value, float) else "i", value))
        return b"".join(slots if self.is_tight else (slot.ljust(16, b"\0") for slot in slots))


def launch(file: Path, name: str, made: Launch) -> None:
    """Launch a kernel of a code object, or with the name "" its only one."""
    module = wave_runtime.load(file)
    kernel = module[name or next(iter(module))]
    arguments = made.with_slack()
    packed = made.packed(arguments)[: kernel.info["kernarg"]["size"]]  # HIP passes no more, either
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    written = [*made.results, *made.scratch]
    reads = [tensor for tensor in tensors if not any(tensor.data_ptr() == other.data_ptr() for other in written)]
    kernel.launch_raw(packed, memory=written, reads=[*reads, *made.others], grid=made.grid, block=made.block)


@dataclass(frozen=True)
class Case:
    """A kernel of a folder.

    Attributes:
        kernel: its name, or "" for a code object's only one.
        make: the launch, with random inputs.
        tolerance: the largest error, relative to the largest element.
        mistake: of the kernel; `make` and `unwritten` show that it is the cause of what differs otherwise.
        unwritten: where the kernel reads what nobody wrote ("lds", "register"), which the launch must find.
    """

    file: Path
    kernel: str
    make: Callable[[], Launch]
    tolerance: float
    mistake: str = ""
    unwritten: str = ""

    def error(self) -> float:
        """Launch, and return the largest error, relative to the largest element.

        Where the kernel's mistake is a read of what nobody wrote, 0 if the tool that looks for such finds it.
        """
        if not self.unwritten:
            return self.compared()
        with wave_runtime.sanitize("uninitialized") as report, contextlib.suppress(wave_runtime.KernelFault):
            self.compared()
        return 0.0 if any(finding.kind == self.unwritten for finding in report.findings) else float("inf")

    def compared(self) -> float:
        """Launch, and return the largest error, relative to the largest element."""
        made = self.make()
        launch(self.file, self.kernel, made)
        found = made.found() if made.found else torch.cat([result.double() for result in made.results], 1)
        found, wanted = found.double(), made.expected.double()
        if not bool(found.isfinite().all()):
            return float("inf")
        return ((found - wanted).abs().max() / wanted.abs().max()).item()


def listed(folder: Path) -> Iterator[Row]:
    """The rows of a folder's lists, with the list's name and the processor's."""
    for path in sorted(folder.rglob("*.csv")):
        with path.open() as file:
            for row in csv.DictReader(file):
                yield row | {"list": path.stem, "processor": folder.parent.name}


def cases(
    make: Callable[[Row], Launch],
    tolerance: Callable[[Row], float] = lambda row: 2**-7,
    takes: Callable[[Row], bool] = lambda row: True,
) -> Callable[[Path], Iterator[Case]]:
    """What lists a folder's kernels, each launched as `make` says for its row, but those that are left out."""

    def of_folder(folder: Path) -> Iterator[Case]:
        for row in filter(takes, listed(folder)):
            for file in sorted(folder.rglob(row["co_name"])):  # some are there for the MI300 and for the MI308
                yield Case(file, row["knl_name"], partial(make, row), tolerance(row))

    return of_folder


def shuffled(matrix: torch.Tensor, wanted: str) -> torch.Tensor:
    """[n, k] in tiles of 16 rows and 16 bytes, one behind the other, where a row's `bpreshuffle` is "1"."""
    if wanted != "1":
        return matrix
    n, k = matrix.shape[0], matrix.shape[1] * matrix.element_size()
    tiles = matrix.view(torch.uint8).view(n // 16, 16, k // 16, 16).transpose(1, 2)
    return tiles.contiguous().view(n, k).view(matrix.dtype)
