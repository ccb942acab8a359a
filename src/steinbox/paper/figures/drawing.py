"""How the figures look: one color per method, means with their uncertainty, names beside the lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression

from steinbox.common.arrays import Array
from steinbox.paper.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SVGD, ANNEALED_SVGD, GF_SVGD = "SVGD", "A-SVGD", "GF-SVGD"
KERNEL_CURVE, INTERPOLANT = "AGF-SVGD (kernel curve)", "AGF-SVGD (interpolant)"
GF_AIS, IMPORTANCE, EXACT = "GF-AIS", "importance sampling", "exact Monte Carlo"
KAMH, KHMC, SMC, DEFAULT = "KAMH", "KHMC", "SMC", "adaptive importance sampling"
CHAINS = (KAMH, KHMC)

# Okabe & Ito's colors, which everybody can tell apart. What a figure compares is colored, yardsticks are gray.
_COLORS = {
    SVGD: "#0072b2",
    "hybrid": "#0072b2",
    ANNEALED_SVGD: "#56b4e9",
    GF_SVGD: "#cc79a7",
    KERNEL_CURVE: "#d55e00",
    INTERPOLANT: "#e69f00",
    GF_AIS: "#009e73",
    KAMH: "#009e73",
    KHMC: "#0072b2",
    IMPORTANCE: "#777777",
    SMC: "#777777",
    DEFAULT: "#000000",
    EXACT: "#777777",
}
_LABEL_SIZE = 8.0  # points
_LINE_HEIGHT = 1.3  # of labels, in their size
_POINTS_PER_INCH = 72.0


def color(method: str) -> str | None:
    """The method's own; None for what has none, which gets the next of the cycle."""
    return _COLORS.get(method)


def line(axes: Axes, rows: Table, along: str, label: str, style: str = "-") -> None:
    """Log10 of a metric along a column, over seeds; "method, setting" has the method's color."""
    if len(rows):
        band(axes, *rows.curve(along), label, style)


def band(axes: Axes, x: Array, values: Sequence[Array], label: str, style: str = "-") -> None:
    """A line of means with a band of two standard errors; a point with a bar if there is only one place.

    ``values`` has those of all seeds for each place.
    """
    mean, width = np.array([each.mean() for each in values]), np.array([two_standard_errors(each) for each in values])
    look: dict[str, Any] = {"color": color(label.partition(",")[0]), "linewidth": 1.2, "markersize": 4}
    if len(x) == 1:
        axes.errorbar(x, mean, yerr=width, fmt="o", capsize=2, label=label, **look)
        return
    (drawn,) = axes.plot(x, mean, style, marker=".", label=label, **look)
    axes.fill_between(x, mean - width, mean + width, color=drawn.get_color(), alpha=0.15, linewidth=0)


def two_standard_errors(values: Array) -> float:
    """Of the mean: where it lies, with 95% probability; one seed has none."""
    return 2 * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0


def level(axes: Axes, rows: Table, label: str) -> None:
    """A method without iterations: a dashed line, with its band."""
    if not len(rows):
        return
    values, own_color = np.log10([row.value for row in rows]), color(label.partition(",")[0])
    mean, width = values.mean(), two_standard_errors(values)
    axes.axhline(mean, color=own_color, linestyle="--", linewidth=1.0, label=label)
    axes.axhspan(mean - width, mean + width, color=own_color, alpha=0.15, linewidth=0)


def finish(axes: Axes, title: str, xlabel: str, ylabel: str, logarithmic: bool = False) -> None:
    """Title, labels, and a logarithmic x axis if ``logarithmic``."""
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel(xlabel, fontsize=8)
    axes.set_ylabel(ylabel, fontsize=8)
    axes.tick_params(labelsize=7)
    if logarithmic:
        axes.set_xscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.5)


def name_lines(axes: Axes) -> None:
    """The name of every line to the right of the panel, as high as the line ends; moved apart where they would meet."""
    from matplotlib.lines import Line2D

    height = axes.get_position().height * axes.figure.get_figheight() * _POINTS_PER_INCH  # type: ignore[union-attr]
    low, high = axes.get_ylim()
    ends: dict[str, tuple[float, float, Any]] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        drawn: Any = handle if isinstance(handle, Line2D) else handle.get_children()[0]  # of a point with a bar
        x, y = np.array(drawn.get_xdata(), dtype=np.float64), np.array(drawn.get_ydata(), dtype=np.float64)
        is_level = drawn.get_transform() != axes.transData
        ends[label] = (axes.get_xlim()[1] if is_level else x[-1], float(y[-1]), drawn.get_color())
    order = sorted(ends, key=lambda label: ends[label][1])
    heights = np.array([np.clip((ends[label][1] - low) / (high - low), 0.0, 1.0) for label in order])
    for label, place in zip(order, apart(heights, _LINE_HEIGHT * _LABEL_SIZE / height), strict=True):
        x_end, y_end, own_color = ends[label]
        axes.annotate(
            label,
            xy=(x_end, y_end),
            xytext=(1.06, place),
            textcoords="axes fraction",
            color=own_color,
            fontsize=_LABEL_SIZE,
            verticalalignment="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": own_color, "linewidth": 0.5, "alpha": 0.6},
        )


def apart(heights: Array, gap: float) -> Array:
    """Increasing heights moved as little as needed so that neighbors are at least ``gap`` apart (least squares).

    Examples
    --------
    >>> import numpy as np
    >>> apart(np.array([0.0, 0.5, 0.5]), 0.2)
    array([0. , 0.4, 0.6])
    """
    steps = gap * np.arange(len(heights))
    return np.asarray(isotonic_regression(heights - steps).x + steps)
