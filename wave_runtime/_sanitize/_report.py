"""What a sanitized part of a program has shown."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from wave_runtime._files import write_file
from wave_runtime._sanitize._findings import Finding
from wave_runtime._sanitize._suppressions import Suppression
from wave_runtime._version import __version__

SCHEMA = 1  # of the JSON: docs/sanitize.md


class Findings:
    """Findings without those that are suppressed, equal ones counted."""

    def __init__(self, tools: Iterable[str], suppressions: Iterable[Suppression] = ()) -> None:
        self.tools = tuple(tools)
        self.suppressed = 0
        self._suppressions = list(suppressions)
        self._found: dict[tuple[Any, ...], Finding] = {}

    def add(self, finding: Finding) -> None:
        """Count a finding."""
        if any(suppression.matches(finding) for suppression in self._suppressions):
            self.suppressed += finding.count
            return
        known = self._found.get(finding.key)
        self._found[finding.key] = finding if known is None else replace(known, count=known.count + finding.count)

    def all(self) -> list[Finding]:
        """The findings, in the order in which launches showed them."""
        return list(self._found.values())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them as JSON. Raises OSError."""
        value = {
            "schema": SCHEMA,
            "wave_runtime": __version__,
            "tools": list(self.tools),
            "findings": [finding.to_json() for finding in self.all()],
            "suppressed": self.suppressed,
        }
        write_file(os.fspath(path), (json.dumps(value, indent=2) + "\n").encode())

    def __str__(self) -> str:
        found = self.all()
        times = sum(finding.count for finding in found)
        summary = f"{len(found)} finding{'' if len(found) == 1 else 's'}"
        if times != len(found):
            summary += f", seen {times} times"
        if self.suppressed:
            summary += f"; {self.suppressed} suppressed"
        return "\n".join([*map(str, found), f"wave_runtime.sanitize ({', '.join(self.tools)}): {summary}"])
