"""The panels that Figures 2 to 4 have in common, and summaries of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from steinbox.paper.claims import log10, plus_minus
from steinbox.paper.figures.drawing import EXACT, finish, level, line, name_lines
from steinbox.paper.table import Seeds, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EARLY_SHARE = 0.1  # of the iterations: where speeds of convergence are compared
_METRICS = {"mean_mse": "log10 MSE of the mean", "variance_mse": "log10 MSE of the variance", "mmd2": "log10 MMD²"}
_FINAL_METRICS = {"mmd2": "log10 MMD²"} | _METRICS | {"variance_ratio": "variance / exact"}


class Curve(NamedTuple):
    """A method and its setting; its name in legends is the method if there is no label."""

    method: str
    setting: str
    label: str = ""

    @property
    def name(self) -> str:
        """In legends and sentences."""
        return self.label or self.method


def largest_size(table: Table) -> int:
    """The number of particles that convergence is shown with."""
    return max(row.size for row in table)


def final(table: Table, curve: Curve, size: int, metric: str = "mmd2") -> Seeds:
    """Log10 of the metric at the end of the runs with this many particles, by seed; of the longest if they differ."""
    return log10(_final_rows(table.where(size=size), curve, metric).by_seed())


def _final_rows(table: Table, curve: Curve, metric: str) -> Table:
    """The last rows of a curve: for every number of particles those of the longest runs."""
    rows = table.where(method=curve.method, setting=curve.setting, metric=metric).last()
    longest = {size: max(row.num_iterations for row in rows.where(size=size)) for size in {row.size for row in rows}}
    return Table(row for row in rows if row.num_iterations == longest[row.size])


def early(table: Table, curve: Curve, size: int, share: float) -> Seeds:
    """Log10 of MMD² after this share of the iterations that the longest runs of all have, by seed.

    At the last checkpoint before that: of a shorter run it may be the end.
    """
    limit = max(1.0, share * max(row.num_iterations for row in table))
    rows = table.where(method=curve.method, setting=curve.setting, size=size, metric="mmd2")
    rows = rows.where(num_iterations=max(row.num_iterations for row in rows))
    iteration = max(row.iteration for row in rows if row.iteration <= limit)
    return log10(rows.where(iteration=iteration).by_seed())


def four_panels(table: Table, curves: Sequence[Curve], size: int) -> Figure:
    """Convergence with a fixed number of particles, and three metrics at the end against their number."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    convergence(panels[0], table, curves, size, "iteration")
    finish(panels[0], f"(a) convergence, n = {size}", "iterations", "log10 MMD²", logarithmic=True)
    for axes, letter, (metric, name) in zip(panels[1:], "bcd", _METRICS.items(), strict=True):
        for curve in (*curves, Curve(EXACT, "")):
            style = "--" if curve.method == EXACT else "-"
            line(axes, _final_rows(table, curve, metric), "size", curve.name, style)
        finish(axes, f"({letter}) {name}", "particles n", name, logarithmic=True)
        sizes = sorted({row.size for row in table})
        axes.set_xticks(sizes, [str(each) for each in sizes])
        axes.minorticks_off()
    for axes in (panels[1], panels[3]):
        name_lines(axes)
    return figure


def against_evaluations(table: Table, curves: Sequence[Curve], size: int) -> Figure:
    """MMD against the number of evaluations, including the burn-in."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    axes = figure.subplots()
    convergence(axes, table, curves, size, "evaluations")
    finish(axes, f"n = {size}, all evaluations counted", "evaluations", "log10 MMD²", logarithmic=True)
    name_lines(axes)
    return figure


def convergence(axes: Axes, table: Table, curves: Sequence[Curve], size: int, along: str) -> None:
    """Mean curves of MMD² along iterations or evaluations."""
    watched = table.where(metric="mmd2", size=size)
    for curve in curves:
        rows = watched.where(method=curve.method, setting=curve.setting)
        line(axes, rows, along, curve.name)
    level(axes, watched.where(method=EXACT), EXACT)


def summary(table: Table, curves: Sequence[Curve], size: int) -> list[list[str]]:
    """Final values of all curves: evaluations, including the burn-in, metrics and seconds; the header first."""
    lines = [["method", "setting", "seeds", "iterations", "evaluations", *_FINAL_METRICS.values(), "seconds"]]
    for curve in (*curves, Curve(EXACT, "")):
        rows = table.where(method=curve.method, setting=curve.setting, size=size).last()
        for num_iterations in sorted({row.num_iterations for row in rows}):
            lines.append(_summary_line(curve, rows.where(num_iterations=num_iterations)))
    return lines


def _summary_line(curve: Curve, rows: Table) -> list[str]:
    first = rows.where(metric="mmd2")
    evaluations, seconds = (np.mean([getattr(row, name) for row in first]) for name in ("evaluations", "seconds"))
    metrics = []
    for name in _FINAL_METRICS:
        values = rows.where(metric=name).by_seed()
        metrics.append(plus_minus(values if name == "variance_ratio" else log10(values)))
    counts = [f"{len(first)}", f"{first.rows[0].num_iterations:,}", f"{evaluations:,.0f}"]
    return [curve.method, curve.setting, *counts, *metrics, f"{seconds:.0f}"]
