"""``python -m wave_runtime sanitize``: a program, and the processes that it starts, under the sanitizer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wave_runtime import _processes
from wave_runtime._sanitize import Besides, environment, known_tools
from wave_runtime._sanitize._findings import Finding, parse
from wave_runtime._sanitize._report import Findings
from wave_runtime._sanitize._suppressions import read


@dataclass(frozen=True)
class Request:
    """A program, and what is looked for in its launches."""

    program: Sequence[str]
    tools: Sequence[str]
    besides: Besides = field(default_factory=Besides)
    suppressions: str | None = None

    def findings(self) -> Findings:
        """What run() fills. Raises ValueError and OSError: there is no such tool, or the suppressions mean nothing."""
        return Findings(known_tools(self.tools), read(self.suppressions))

    def run(self, findings: Findings) -> int:
        """Run the program to its end, and collect what was found in all of its processes.

        Returns:
            Its exit status; 128 and the signal's number where a signal ended it.

        Raises:
            OSError: there is no such program.
        """
        with tempfile.TemporaryDirectory(prefix="wave-sanitize-") as log:
            own = environment(findings.tools, self.besides, log=log)
            status = _processes.run(self.program, own)
            for path in sorted(Path(log).glob("*.jsonl")):
                with path.open(encoding="utf-8") as lines:
                    for line in lines:
                        findings.add(Finding.from_json(parse(line)))
        return status
