"""Runs the hand-written code objects of a checkout of ROCm/aiter: `make campaign-aiter AITER_SOURCE=path`.

Prints two tables, by processor and folder of hsa/: how many code objects there are, of how many the emulator runs all
instructions, and what it does not run; how many kernels were launched on small problems, with the arguments that
AITER's host code gives them, and how many agree with torch. families.py says how each folder's kernels are launched.
Ends with 1 where an instruction is not run, a launch fails, or a result differs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from families import FAMILIES

import wave_runtime
from wave_runtime import _coverage

PROCESSORS = ("gfx942", "gfx950")
BESIDE = "(no folder)"


@dataclass
class Tally:
    """What was found in a folder.

    Attributes:
        complete: code objects of which all instructions run.
        reasons: why instructions do not run, and how many.
        agree: kernels whose results are torch's.
        mistaken: kernels whose results differ by a mistake of their own, which the launch shows, by what it is.
        problems: the others that were launched, and what was wrong.
    """

    files: int = 0
    complete: int = 0
    instructions: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    agree: int = 0
    mistaken: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def launched(self) -> int:
        return self.agree + self.mistaken.total() + len(self.problems)


def family_of(file: Path, hsa: Path) -> tuple[str, str]:
    """The processor, and the folder of its kernels; files that lie beside the folders are one of their own."""
    parts = file.relative_to(hsa).parts
    return parts[0], parts[1] if len(parts) > 2 else BESIDE


def count_instructions(file: Path, tally: Tally) -> None:
    """Add a code object's instructions to its folder's."""
    report = _coverage.coverage(file)
    reasons: Counter[str] = Counter()
    for kernel in report.values():
        tally.instructions += kernel["instructions"]
        reasons.update(kernel["unsupported"])
    tally.files += 1
    tally.complete += not reasons
    tally.reasons.update(reasons)


def launch_all(folder: Path, name: str, tally: Tally) -> None:
    """Launch what is known of the folder's kernels, and compare with torch."""
    for case in FAMILIES[name](folder):
        torch.manual_seed(0)
        try:
            error = case.error()
        except (wave_runtime.KernelFault, RuntimeError, ValueError, TypeError, KeyError) as failure:
            tally.problems.append(f"{case.file.name}: {str(failure).splitlines()[0]}")
            continue
        if error <= case.tolerance and case.mistake:
            tally.mistaken[case.mistake] += 1
        elif error <= case.tolerance:
            tally.agree += 1
        else:
            tally.problems.append(
                f"{case.file.name}: differs from torch by {error:.3g}, and may by {case.tolerance:.3g}"
            )


def table(tallies: dict[tuple[str, str], Tally]) -> str:
    """Both tables as one, in Markdown."""
    lines = [
        "| processor | folder | code objects | all instructions run | instructions | launched | agree |",
        "|---|---|---|---|---|---|---|",
    ]

    def line(names: tuple[str, str], of: Iterable[Tally]) -> str:
        rows = list(of)
        launched = sum(tally.launched for tally in rows)
        counts = [
            sum(getattr(tally, name) for tally in rows) for name in ("files", "complete", "instructions", "agree")
        ]
        return "| {} | {} | {:,} | {:,} | {:,} | {:,} | {:,} |".format(*names, *counts[:3], launched, counts[3])

    lines += [line(names, [tally]) for names, tally in sorted(tallies.items())]
    for processor in PROCESSORS:
        lines.append(line((processor, "all"), (tally for names, tally in tallies.items() if names[0] == processor)))
    return "\n".join(lines)


def results(tallies: dict[tuple[str, str], Tally], source: Path) -> dict[str, object]:
    """For tools/generate_figures.py: the counts by folder, with the day and the checkout's commit."""
    command = ["git", "-C", str(source), "rev-parse", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    folders = {
        "/".join(names): {
            "files": tally.files,
            "complete": tally.complete,
            "instructions": tally.instructions,
            "launched": tally.launched,
            "agree": tally.agree,
            "mistaken": dict(tally.mistaken),
            "problems": tally.problems,
        }
        for names, tally in sorted(tallies.items())
    }
    return {"date": datetime.date.today().isoformat(), "commit": commit, "folders": folders}


def main(words: list[str] | None = None) -> int:
    """Run the campaign, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="a checkout of ROCm/aiter, with its folder hsa")
    parser.add_argument("--only", default="", metavar="TEXT", help="folders and files in whose path it is")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--launches", action="store_true", help="no coverage, which takes some minutes")
    options = parser.parse_args(words)
    hsa = options.source / "hsa"
    files = sorted(
        file for name in PROCESSORS for file in (hsa / name).rglob("*.co") if options.only in str(file.relative_to(hsa))
    )
    if not files:
        parser.error(f"{hsa} has no code objects for {' or '.join(PROCESSORS)}")
    warnings.filterwarnings("ignore", message=".*reads as zero", category=RuntimeWarning)  # correct kernels over-read
    tallies: dict[tuple[str, str], Tally] = {}
    for file in files:
        tally = tallies.setdefault(family_of(file, hsa), Tally())
        if not options.launches:
            count_instructions(file, tally)
    for (processor, name), tally in tallies.items():
        if name in FAMILIES:
            launch_all(hsa / processor if name == BESIDE else hsa / processor / name, name, tally)
    print(table(tallies))
    if options.json:
        options.json.write_text(json.dumps(results(tallies, options.source), indent=1) + "\n")
    for names, tally in sorted(tallies.items()):
        for text in [
            *(f"{count} {reason}" for reason, count in (tally.reasons + tally.mistaken).items()),
            *tally.problems,
        ]:
            print(f"{'/'.join(names)}: {text}")
    return 1 if any(tally.reasons or tally.problems for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
