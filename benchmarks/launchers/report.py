"""What the measurements say: a table, JSON, a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

FORMAT = 1
COLORS = {"floor": "#555555", "ours": "#c44e52", "peer": "#9fb4cf", "probe": "#c8c8c8"}
LABELS = {"floor": "C loop", "ours": "wave_runtime", "peer": "others", "probe": "C loop and other code"}


@dataclass(frozen=True)
class Setting:
    """What a table is about."""

    kernel: str
    arguments: int
    threads: int

    def __str__(self) -> str:
        threads = f"{self.threads} threads" if self.threads > 1 else "1 thread"
        return f"{self.kernel}, {self.arguments} arguments, {threads}"


@dataclass(frozen=True)
class Row:
    """A launcher's figures in a setting.

    Attributes:
        group: a key of COLORS.
        microseconds: time of a launch.
        ratio: to the floor.
        low: the least ratio of the groups of rounds.
        high: their largest.
        target: what the ratio is to stay below.
    """

    setting: Setting
    launcher: str
    group: str
    microseconds: float
    ratio: float
    low: float
    high: float
    target: float | None = None

    @property
    def verdict(self) -> str:
        """How the ratio compares with the target."""
        if self.target is None:
            return ""
        return f"<= {self.target:.2f} {'met' if self.ratio <= self.target else 'MISSED'}"


@dataclass(frozen=True)
class Missing:
    """A launcher that was not measured, where, and why."""

    launcher: str
    where: str
    reason: str


@dataclass
class Report:
    """A run of the benchmark."""

    machine: dict[str, str]
    method: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def settings(self) -> list[Setting]:
        """In the order in which they were measured."""
        return list(dict.fromkeys(row.setting for row in self.rows))

    def rows_of(self, setting: Setting) -> list[Row]:
        """Sorted by ratio."""
        return sorted((row for row in self.rows if row.setting == setting), key=lambda row: row.ratio)

    def set_targets(self, rivals: Mapping[str, str]) -> None:
        """Launchers are to stay below others, by name, where both were measured in one setting."""
        ratios = {(row.setting, row.launcher): row.ratio for row in self.rows}
        for index, row in enumerate(self.rows):
            ratio = ratios.get((row.setting, rivals.get(row.launcher, "")))
            if ratio is not None:
                self.rows[index] = replace(row, target=ratio)

    def to_json(self) -> str:
        """For ``from_json``."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @staticmethod
    def from_json(text: str) -> Report:
        """Raises ValueError for a file that is none of ours."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"expected results of bench_launch.py in format {FORMAT}")

        return Report(
            data["machine"],
            data["method"],
            [Row(**{**row, "setting": Setting(**row["setting"])}) for row in data["rows"]],
            [Missing(**missing) for missing in data["missing"]],
        )


def machine_text(machine: dict[str, str]) -> str:
    """On one line."""
    return ", ".join(f"{name} {value}" for name, value in machine.items())


def table(report: Report, baseline: Report | None = None) -> str:
    """The rows of each setting, with an earlier run's ratios where there is one, then what is missing."""
    return "\n".join(table_lines(report, baseline))


def table_lines(report: Report, baseline: Report | None) -> Iterator[str]:
    """The lines of ``table``."""
    earlier = {(row.setting, row.launcher): row.ratio for row in baseline.rows} if baseline else {}
    yield machine_text(report.machine)
    if baseline:
        yield f"baseline: {machine_text(baseline.machine)}"
    for setting in report.settings():
        yield ""
        head = f"{setting!s:<48} {'us':>7} {'ratio':>7} {'range':>13}"
        yield f"{head} {'was':>7}  target" if baseline else f"{head}  target"
        for row in report.rows_of(setting):
            spread = f"{row.low:.2f}-{row.high:.2f}"
            line = f"{row.launcher:<48} {row.microseconds:>7.2f} {row.ratio:>7.2f} {spread:>13}"
            if baseline:
                was = earlier.get((setting, row.launcher))
                line += f" {was:>7.2f}" if was is not None else f" {'':>7}"
            yield f"{line}  {row.verdict}".rstrip()
    where: dict[tuple[str, str], list[str]] = {}
    for missing in report.missing:
        where.setdefault((missing.launcher, missing.reason), []).append(missing.where)
    if where:
        yield ""
    for (launcher, reason), places in where.items():
        yield f"not measured: {launcher} ({'; '.join(places)}): {reason}"


def draw(report: Report, path: Path) -> None:
    """Write a picture of the ratios to ``path``. Raises ImportError without matplotlib."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    settings = report.settings()
    columns = min(2, len(settings))
    lines = math.ceil(len(settings) / columns)
    most = max(len(report.rows_of(setting)) for setting in settings)
    figure = Figure(figsize=(7.5 * columns, 1.6 + lines * (0.8 + 0.24 * most)), layout="constrained")
    for axes, setting in zip(figure.subplots(lines, columns, squeeze=False).flat, settings, strict=False):
        draw_rows(axes, report.rows_of(setting), str(setting))
    handles = [Patch(color=COLORS[group], label=LABELS[group]) for group in COLORS]
    target = Line2D([], [], color="black", marker="|", linestyle="none", markersize=9, label="target")
    figure.suptitle(
        f"Host time of a launch, as a ratio to a C loop over cuLaunchKernel\n{title(report.machine)}", fontsize=11
    )
    figure.legend(handles=[*handles, target], loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


def draw_rows(axes: Any, rows: Sequence[Row], heading: str) -> None:
    """A panel of the picture."""
    places = range(len(rows))
    axes.barh(places, [row.ratio for row in rows], color=[COLORS[row.group] for row in rows])
    for place, row in enumerate(rows):
        axes.text(row.ratio * 1.03, place, f"{row.ratio:.2f}", va="center", fontsize=7, color="#555555")
    marks = [(row.target, place) for place, row in enumerate(rows) if row.target is not None]
    axes.scatter([mark[0] for mark in marks], [mark[1] for mark in marks], marker="|", s=70, color="black", zorder=3)
    least = min(row.ratio for row in rows)
    axes.set(xscale="log", xlim=(min(0.8, least * 0.8), max(row.ratio for row in rows) * 1.4))
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(places, [row.launcher for row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_title(heading, fontsize=9)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def title(machine: dict[str, str]) -> str:
    """The machine in two lines."""
    hardware = [machine[name] for name in ("gpu", "cpu") if name in machine]
    versions = [f"{name} {value}" for name, value in machine.items() if name not in ("gpu", "cpu", "system", "cores")]
    half = (len(versions) + 1) // 2
    return "\n".join((", ".join([*hardware, *versions[:half]]), ", ".join(versions[half:])))
