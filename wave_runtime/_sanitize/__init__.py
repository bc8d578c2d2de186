"""Looks for mistakes of kernels that run on the emulator: see docs/sanitize.md."""

from __future__ import annotations

import atexit
import json
import os
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from wave_runtime import _C, _environment
from wave_runtime._fork import Lock
from wave_runtime._sanitize import _caller
from wave_runtime._sanitize._findings import Element, Finding, Frame, Site, parse
from wave_runtime._sanitize._report import Findings
from wave_runtime._sanitize._suppressions import read

__all__ = ["Element", "Finding", "Frame", "Sanitation", "SanitizeError", "Site", "from_environment", "sanitize"]

VARIABLE = "WAVE_RUNTIME_SANITIZE"
OVER_READS = "WAVE_RUNTIME_SANITIZE_OVER_READS"
DENORMALS = "WAVE_RUNTIME_SANITIZE_DENORMALS"
DEAD_REGISTERS = "WAVE_RUNTIME_SANITIZE_DEAD_REGISTERS"
LOG = "WAVE_RUNTIME_SANITIZE_LOG"

_lock = Lock()
_begun: list[Sanitation] = []


class SanitizeError(RuntimeError):
    """There were findings within ``sanitize(..., fail=True)``.

    Attributes:
        report: the :class:`Sanitation`, with what was found.
    """

    def __init__(self, report: Sanitation) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True)
class Besides:
    """What tools find only where it is asked for: see :func:`sanitize`."""

    over_reads: bool = False
    denormals: bool = False
    dead_registers: bool = False


class Sanitation:
    """A search for mistakes that :func:`sanitize` has begun, with what it has found so far.

    It ends when its context is left, or with :meth:`stop`. Printed, it is the report.

    Attributes:
        tools: the names of the tools.
    """

    def __init__(self, tools: tuple[str, ...], besides: Besides, findings: Findings, fail: bool) -> None:
        self.tools = tools
        self._found = findings
        self._fail = fail
        with _lock:
            self._session = _C.begin_sanitizer(
                ",".join(tools), besides.over_reads, besides.denormals, besides.dead_registers
            )
            _begun.append(self)

    @property
    def findings(self) -> list[Finding]:
        """What was found, in the order of the launches. Equal findings are one, with a count."""
        self._collect([])
        return self._found.all()

    @property
    def suppressed(self) -> int:
        """How many findings were left out, because the suppressions name them."""
        self._collect([])
        return self._found.suppressed

    def stop(self) -> None:
        """Stop looking. A second call does nothing."""
        with _lock:
            if self in _begun:
                _begun.remove(self)
                self._session.end()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the findings as JSON; docs/sanitize.md has the schema. Raises OSError."""
        self._collect([])
        self._found.save(path)

    def __enter__(self) -> Sanitation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        if self._fail and kind is None and self.findings:
            raise SanitizeError(self)

    def __str__(self) -> str:
        self._collect([])
        return str(self._found)

    def __repr__(self) -> str:
        return f"<wave_runtime.sanitize {', '.join(self.tools)}: {len(self.findings)} findings>"

    def _collect(self, frames: list[Any]) -> None:
        """Take what launches have reported. Their place is told by the frames that made the launch."""
        with _lock:
            for text in self._session.take():
                self._add(_told(parse(text), frames))

    def _add(self, finding: Finding) -> None:
        self._found.add(finding)


class _Logged(Sanitation):
    """Of a process that begins with WAVE_RUNTIME_SANITIZE: findings go to a log, or to stderr when it ends."""

    def __init__(self, tools: tuple[str, ...], besides: Besides, log: str) -> None:
        self._log = log
        super().__init__(tools, besides, Findings(tools), fail=False)
        atexit.register(self._end)

    def _add(self, finding: Finding) -> None:
        if not self._log:
            return super()._add(finding)
        try:
            Path(self._log).mkdir(parents=True, exist_ok=True)
            with Path(self._log, f"{os.getpid()}-python.jsonl").open("a") as file:
                file.write(json.dumps(finding.to_json()) + "\n")
        except OSError as error:
            super()._add(finding)
            log, self._log = self._log, ""
            warnings.warn(f"{LOG}={log}: {error}: what is found goes to stderr", RuntimeWarning, stacklevel=2)

    def _end(self) -> None:
        if self.findings:
            print(self, file=sys.stderr)


def sanitize(
    *tools: str,
    suppressions: str | os.PathLike[str] | Iterable[str] | None = None,
    over_reads: bool = False,
    denormals: bool = False,
    dead_registers: bool = False,
    fail: bool = False,
) -> Sanitation:
    """Look for mistakes of kernels, in all launches on the emulator from now on.

        with wave_runtime.sanitize("memory", "races") as report:
            model(x)
        print(report)

    It begins at the call and lasts until the context is left, or otherwise as long as the process. It looks at launches
    of all threads of the process, and of the HIP library in it. Within another search only the inner one looks.

    A launch goes on after a mistake, so that one launch may have several findings. With the memory tool, an access that
    would be a KernelFault is not made; a load gives a pattern that is a NaN in every type of floats. docs/sanitize.md
    says what each tool finds.

    Args:
        tools: "memory", "races", "waits", "barriers", "numbers", "uninitialized", "lanes"; or "all", the default.
        suppressions: findings to leave out: a file, or its lines, each of which is ``KIND [KERNEL [PLACE]]``.
        over_reads: whether the memory tool also reports reads up to 512 bytes past an end, which otherwise read zero.
        denormals: whether the tool "numbers" also reports instructions whose result is another one because denormals
            count as zeros.
        dead_registers: whether the tool "waits" also reports instructions that read a register too early, but whose
            result nobody uses.
        fail: whether leaving the context raises SanitizeError if there are findings.

    Raises:
        ValueError: there is no such tool, or a line of the suppressions makes no sense.
        TypeError: a tool is no text.
        OSError: the suppressions cannot be read.
    """
    names = known_tools(tools)
    besides = Besides(over_reads, denormals, dead_registers)
    return Sanitation(names, besides, Findings(names, read(suppressions)), fail)


def known_tools(tools: Iterable[str]) -> tuple[str, ...]:
    """The tools by their names, which may have blanks around them, in an order of their own. Raises ValueError."""
    known = tuple(_C.sanitizer_tools())
    tools = tuple(tools)
    for tool in tools:
        if not isinstance(tool, str):
            raise TypeError(f'expected names of tools, as in "memory", "races", given {type(tool).__name__}')
    wanted = {tool.strip(" ") for tool in tools} or {"all"}
    if unknown := sorted(wanted - {*known, "all"}):
        each = ", each an argument of its own" if "," in unknown[0] else ""
        raise ValueError(f"there is no tool '{unknown[0]}': expected {', '.join(known)} or all{each}")
    return known if "all" in wanted else tuple(tool for tool in known if tool in wanted)


def from_environment() -> None:
    """Sanitize for the process where WAVE_RUNTIME_SANITIZE says so. Raises ValueError where it names no tool."""
    text = os.environ.get("WAVE_RUNTIME_SANITIZE")
    if not text:
        return
    try:
        tools = known_tools(text.split(","))
    except ValueError:
        expected = f"tools with commas between them, of {', '.join(_C.sanitizer_tools())}, or all"
        raise ValueError(f"{VARIABLE}={text}: expected {expected}, for instance {VARIABLE}=memory,races") from None
    besides = Besides(*(_environment.flag(variable, False) for variable in (OVER_READS, DENORMALS, DEAD_REGISTERS)))
    _Logged(tools, besides, os.environ.get("WAVE_RUNTIME_SANITIZE_LOG", ""))


def environment(tools: Iterable[str], besides: Besides = Besides(), *, log: str = "") -> dict[str, str]:
    """The variables with which a process begins sanitized: see docs/environment.md. Raises ValueError."""
    return {
        VARIABLE: ",".join(known_tools(tools)),
        OVER_READS: str(int(besides.over_reads)),
        DENORMALS: str(int(besides.denormals)),
        DEAD_REGISTERS: str(int(besides.dead_registers)),
        LOG: log,
    }


def _told(value: dict[str, Any], frames: list[Any]) -> Finding:
    """A finding, with what the program's frames tell of its launch."""
    place = _caller.place(frames)
    value["launch"] = None if place is None else {"function": place.function, "file": place.file, "line": place.line}
    if value["tensor"] is not None:
        value["tensor"]["variable"] = _caller.variable(frames, value["tensor"]["data"])
    return Finding.from_json(value)


def _behind_launch() -> None:
    """Called by the binding behind a launch that has found something."""
    frames = _caller.frames()
    for sanitation in list(_begun):
        sanitation._collect(frames)


_C.set_findings_hook(_behind_launch)
