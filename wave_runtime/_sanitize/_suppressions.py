"""Findings that are known, and are not to be told."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from wave_runtime import _C
from wave_runtime._sanitize._findings import KINDS, Finding
from wave_runtime._spelling import split, unqualified


class Suppression(NamedTuple):
    """Patterns with ``*`` and ``?``, all of which a finding must match.

    Attributes:
        kind: "memory:out-of-bounds", or a tool's name for all of its kinds.
        kernel: the kernel's symbol, or its name as the source has it, with its namespaces or without, and without
            parameters.
        place: "file.hip:12", of either side, with or without folders before it, also of a line into which the
            instruction's was inlined; without line tables the symbol.
    """

    kind: str
    kernel: str = "*"
    place: str = "*"

    def matches(self, finding: Finding) -> bool:
        """Whether the finding is one of these."""
        kinds = (finding.tool, f"{finding.tool}:{finding.kind}")
        sites = [site for site in (finding.at, finding.other) if site is not None]
        lines = [f"{frame.file}:{frame.line}" for site in sites for frame in site.frames]
        # A file of which the binary knows no folder is in some folder all the same.
        lines = [line if line.startswith("/") else f"./{line.removeprefix('./')}" for line in lines]
        places = [place for line in lines for place in (line, line.removeprefix("./"), line.rpartition("/")[2])]
        places += [site.symbol for site in sites]
        return (
            any(fnmatchcase(kind, self.kind) for kind in kinds)
            and any(fnmatchcase(name, self.kernel) for name in _names(finding.kernel))
            and any(fnmatchcase(place, self.place) for place in places)
        )


def _names(symbol: str) -> list[str]:
    """What a kernel may be called."""
    head, _ = split(_C.demangle(symbol) or symbol)
    return [symbol, head.removeprefix("void "), unqualified(head)]


def read(source: str | os.PathLike[str] | Iterable[str] | None) -> list[Suppression]:
    """Those of a file, or of lines: ``KIND [KERNEL [PLACE]]`` each, with ``#`` before comments.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line has more than three words, its first one names no tool or no kind that there is, or a kind
            stands where the kernel should.
    """
    if source is None:
        return []
    is_path = isinstance(source, (str, os.PathLike))
    lines = Path(source).read_text().splitlines() if is_path else list(source)  # type: ignore[arg-type]
    suppressions = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        where = f"{source}:{number}" if is_path else f"suppression {line!r}"
        if len(words) > 3:
            raise ValueError(f"{where}: expected KIND [KERNEL [PLACE]], for instance memory:out-of-bounds gemm*")
        if words and (mistake := _mistake_in(words[0])):
            raise ValueError(f"{where}: {mistake}")
        if len(words) > 1 and "-" in words[1] and words[1] in KINDS.get(words[0], ()):
            raise ValueError(f"{where}: no kernel is called '{words[1]}': of this kind are {words[0]}:{words[1]}")
        if words:
            suppressions.append(Suppression(*words))
    return suppressions


def _mistake_in(pattern: str) -> str | None:
    """Why nothing can match the first word of a line."""
    kinds = [f"{tool}:{kind}" for tool in KINDS for kind in KINDS[tool]]
    if any(fnmatchcase(name, pattern) for name in (*KINDS, *kinds)):
        return None
    tool = pattern.partition(":")[0]
    if tool in KINDS:
        return f"there is no kind '{pattern}': expected {tool} or {tool}: and one of {', '.join(KINDS[tool])}"
    if not any(fnmatchcase(name, tool) for name in KINDS):
        return f"there is no tool '{tool}': expected {', '.join(KINDS)}"
    return f"there is no kind '{pattern}': expected one of {', '.join(kinds)}"
