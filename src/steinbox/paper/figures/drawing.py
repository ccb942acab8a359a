"""How the experiments' figures look: one color per method, means with a band of one standard deviation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from steinbox.paper.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SVGD, ANNEALED_SVGD, GF_SVGD = "SVGD", "A-SVGD", "GF-SVGD"
KERNEL_CURVE, INTERPOLANT = "AGF-SVGD (kernel curve)", "AGF-SVGD (interpolant)"
GF_AIS, IMPORTANCE, EXACT = "GF-AIS", "importance sampling", "exact Monte Carlo"
KAMH, KHMC, SMC, DEFAULT = "KAMH", "KHMC", "SMC", "adaptive importance sampling"
CHAINS = (KAMH, KHMC)

_COLORS = {
    SVGD: "#1f77b4",
    ANNEALED_SVGD: "#17becf",
    GF_SVGD: "#8c564b",
    KERNEL_CURVE: "#d62728",
    INTERPOLANT: "#ff7f0e",
    GF_AIS: "#9467bd",
    IMPORTANCE: "#7f7f7f",
    EXACT: "#000000",
    KAMH: "#2ca02c",
    KHMC: "#bcbd22",
    SMC: "#e377c2",
    DEFAULT: "#003f8a",
}
_STYLES = {"median": "--", "paper, step per particle": ":", "paper, step shared": "-."}


def color(method: str) -> str | None:
    """The method's own; None for what has none, which gets the next of the cycle."""
    return _COLORS.get(method)


def line(axes: Axes, rows: Table, along: str, label: str) -> None:
    """The mean over seeds of log10 of a metric, along a column; "method, setting" has the method's color."""
    if not len(rows):
        return
    x, mean, spread = rows.curve(along)
    method, _, setting = label.partition(", ")
    style = ":" if setting.startswith("burn-in") else _STYLES.get(setting, "-")
    look: dict[str, Any] = {"color": color(method), "linestyle": style, "linewidth": 1.3}
    (drawn,) = axes.plot(x, mean, marker="." if len(x) > 1 else "o", label=label, **look)
    axes.fill_between(x, mean - spread, mean + spread, color=drawn.get_color(), alpha=0.12, linewidth=0)


def level(axes: Axes, rows: Table, label: str) -> None:
    """A method without iterations, as a dashed line."""
    if not len(rows):
        return
    _, mean, _ = rows.curve("iteration")
    axes.axhline(mean.mean(), color=color(label), linestyle="--", linewidth=1.0, label=label)


def finish(axes: Axes, title: str, xlabel: str, ylabel: str, logarithmic: bool = False) -> None:
    """Title, labels, and a logarithmic x axis if ``logarithmic``."""
    axes.set_title(title, fontsize=10)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if logarithmic:
        axes.set_xscale("log")
    axes.grid(alpha=0.25, linewidth=0.5)


def legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend below all panels."""
    entries: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        entries.update(zip(labels, handles, strict=True))
    width = 0.055 * max(map(len, entries)) + 0.6  # inches of the longest entry
    num_columns = max(1, min(4, int(figure.get_figwidth() / width)))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=num_columns,
        fontsize=8,
        frameon=False,
    )
