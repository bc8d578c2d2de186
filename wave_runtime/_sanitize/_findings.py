"""What the sanitizer has found: see docs/sanitize.md, which has the schema of its JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# What each tool finds.
KINDS = {
    "memory": (
        "out-of-bounds",
        "over-read",
        "read-only",
        "use-after-free",
        "unmapped",
        "misaligned",
        "scratch-overflow",
    ),
    "races": ("lds-race", "lds-load", "global-race", "launch-race"),
    "waits": ("missing-wait", "wait-states", "dead-register"),
    "barriers": (
        "different-barriers",
        "ended-wave",
        "deadlock",
        "endless-loop",
        "signal-twice",
        "wait-without-signal",
        "signal-without-wait",
    ),
    "numbers": ("nan", "infinity", "f16-overflow", "f8-overflow", "denormal"),
    "uninitialized": ("register", "lds", "scratch", "global"),
    "lanes": ("beyond-wave",),
}


@dataclass(frozen=True)
class Frame:
    """A place in the source.

    Attributes:
        function: its name as the source has it; empty where the binary does not say.
        file: a path of the machine that compiled, or that runs Python.
        line: from 1 on.
    """

    function: str
    file: str
    line: int


@dataclass(frozen=True)
class Site:
    """An instruction, and who carried it out.

    Attributes:
        pc: bytes from the kernel's entry; less than 0 in a function that lies before it.
        symbol: "vector_add+0x80".
        instruction: as LLVM writes it.
        frames: where it comes from, the innermost inlined function first; empty where the binary has no line tables.
        workgroup: its index in the grid, x, y and z.
        wave: the wave's number in the workgroup.
        lane: the lane's number in the wave; None where it is not about one lane.
    """

    pc: int
    symbol: str
    instruction: str
    frames: tuple[Frame, ...]
    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None

    @property
    def line(self) -> str:
        """ "file.hip:12", outside of this package's headers; the symbol where the binary has no line tables."""
        if not self.frames:
            return self.symbol
        own = next((frame for frame in self.frames if "/wave_device/" not in frame.file), self.frames[0])
        return f"{own.file}:{own.line}"


@dataclass(frozen=True)
class Element:
    """An element of a tensor that the launch was given.

    Attributes:
        parameter: the kernel's name for it; empty where the signature has none.
        argument: its number among the kernel's parameters, from 0 on.
        dtype: "float32".
        shape: the tensor's.
        index: of the element in that shape, or outside of it; None where the address is of no element.
        variable: what the program calls the tensor where it launches, "out" or "self.weight"; None where that is not
            known.
    """

    parameter: str
    argument: int
    dtype: str
    shape: tuple[int, ...]
    index: tuple[int, ...] | None
    variable: str | None = None


@dataclass(frozen=True)
class Finding:
    """One mistake of a kernel, however often it was made.

    Attributes:
        tool: the tool that found it: "memory", "races" and so on.
        kind: the kind of mistake: "out-of-bounds".
        kernel: the kernel's name.
        message: a sentence about the first time that it was seen.
        at: the instruction, and which workgroup, wave and lane executed it first.
        other: the earlier one of two instructions that do not fit together, or None.
        address: the address of the access, or None if it is no access.
        tensor: the tensor, and the element of it, that was accessed or meant; or None.
        launch: the line of the Python program that launched the kernel, or None.
        count: how often it was seen.
        text: the whole finding, written as compilers write their messages.
    """

    tool: str
    kind: str
    kernel: str
    message: str
    at: Site
    other: Site | None
    address: int | None
    tensor: Element | None
    launch: Frame | None
    count: int
    text: str

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells findings apart: equal findings have equal keys."""
        other = None if self.other is None else self.other.pc
        return self.tool, self.kind, self.kernel, self.at.pc, other, self.tensor and self.tensor.argument

    def to_json(self) -> dict[str, Any]:
        """The finding in the form that json.dump takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Finding:
        """Make a finding of what :meth:`to_json`, or the log of the HIP library, has written."""
        tensor, launch = value["tensor"], value.get("launch")
        return cls(
            tool=value["tool"],
            kind=value["kind"],
            kernel=value["kernel"],
            message=value["message"],
            at=_site(value["at"]),
            other=None if value["other"] is None else _site(value["other"]),
            address=value["address"],
            tensor=None if tensor is None else _element(tensor),
            launch=None if launch is None else Frame(**launch),
            count=value["count"],
            text=value["text"],
        )

    def __str__(self) -> str:
        lines = [self.text]
        if self.tensor is not None and self.tensor.variable is not None:
            lines.append(f"    the tensor is '{self.tensor.variable}' where the kernel is launched")
        if self.launch is not None:
            lines.append(f"    launched in {self.launch.function} ({self.launch.file}:{self.launch.line})")
        if self.count > 1:
            lines.append(f"    {self.count} times in all")
        return "\n".join(lines)


def parse(text: str) -> dict[str, Any]:
    """A finding in JSON as a dictionary, which has the tensor's address besides."""
    value: dict[str, Any] = json.loads(text)
    return value


def _site(value: Mapping[str, Any]) -> Site:
    x, y, z = value["workgroup"]
    frames = tuple(Frame(**frame) for frame in value["frames"])
    return Site(value["pc"], value["symbol"], value["instruction"], frames, (x, y, z), value["wave"], value["lane"])


def _element(value: Mapping[str, Any]) -> Element:
    index = value["index"]
    return Element(
        parameter=value["parameter"],
        argument=value["argument"],
        dtype=value["dtype"],
        shape=tuple(value["shape"]),
        index=None if index is None else tuple(index),
        variable=value.get("variable"),
    )
