"""Draws what the demo measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

EXACT = 1e-8  # where a logarithmic axis of errors begins: less than any tolerance but zero
COLORS = {"the block": "#c44e52", "kernels of the block": "#4c72b0", "other kernels": "#9fb4cf"}


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        group: a key of COLORS.
        name: of the kernel or model.
        device: as torch calls it.
        shape: what the example takes as its size, or the shape of the input.
        error: the largest absolute difference from torch.
        tolerance: which error is acceptable.
        milliseconds: a call's time.
    """

    group: str
    name: str
    device: str
    shape: tuple[int, ...]
    error: float
    tolerance: float
    milliseconds: float

    def __str__(self) -> str:
        place = f"{self.name:<38} {self.device:<6} {self.shape!s:<20}"
        return f"{place} {self.error:>13.2e} {self.tolerance:>8.0e} {self.milliseconds:>10.2f}"


def draw(rows: Sequence[Row], title: str, path: Path) -> None:
    """Write a picture of errors and times to ``path``, by group. Raises ImportError without matplotlib."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = [row for group in COLORS for row in rows if row.group == group]
    places = range(len(rows))
    colors = [COLORS[row.group] for row in rows]
    figure = Figure(figsize=(13, 2 + 0.2 * len(rows)), layout="constrained")
    errors, times = figure.subplots(1, 2, sharey=True)

    errors.barh(places, [max(row.error, EXACT) for row in rows], color=colors)
    for place, row in enumerate(rows):
        if row.error == 0:
            note = "equal" if row.tolerance else "equal, as it must be"
            errors.text(EXACT * 1.2, place, note, va="center", fontsize=7, color="#555555")
    marks = [(row.tolerance, place) for place, row in enumerate(rows) if row.tolerance > 0]
    tolerance = errors.scatter(*zip(*marks, strict=True), marker="|", s=60, color="black", label="tolerance", zorder=3)
    errors.set(xscale="log", xlabel="largest absolute difference from torch", xlim=(EXACT, 1))
    labels = [f"{row.name} ({'x'.join(map(str, row.shape))})" for row in rows]
    errors.set_yticks(places, labels, fontsize=8)
    errors.set_ylim(len(rows) - 0.4, -0.6)

    times.barh(places, [row.milliseconds for row in rows], color=colors)
    for place, row in enumerate(rows):
        text = f"{row.milliseconds:.3g}" if row.milliseconds < 1000 else f"{row.milliseconds:,.0f}"
        times.text(row.milliseconds * 1.1, place, text, va="center", fontsize=7, color="#555555")
    times.set(xscale="log", xlabel="time of a call (ms)")
    times.margins(x=0.1)

    for axes in (errors, times):
        axes.grid(axis="x", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    patches = [Patch(color=color, label=group) for group, color in COLORS.items()]
    figure.suptitle(title, fontsize=12)
    figure.legend(handles=[*patches, tolerance], loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


def draw_losses(curves: Mapping[str, Sequence[float]], path: Path) -> None:
    """Write a picture of losses by step to ``path``, a curve for each name. Raises ImportError without matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for (name, losses), style in zip(curves.items(), ("-", "--"), strict=False):
        axes.plot(range(1, len(losses) + 1), losses, style, label=name)
    axes.set(xlabel="step", ylabel="loss (nats per character)")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=130)
