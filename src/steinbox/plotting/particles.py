"""Pictures of particles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.run.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOR = "#b3202c"
_MAX_PANELS = 6  # parameters shown, each against each
_NUM_GRID = 200  # points of a contour plot along each axis
_CONTOUR_MASSES = (0.99, 0.95, 0.8, 0.5)  # probability inside each contour


def plot_particles(result: Result, *, log_prob: Callable[[Array], Any] | None = None) -> Figure:
    """The particles: every pair of the first six parameters, and each parameter's histogram.

    Parameters
    ----------
    result : Result
    log_prob : callable, optional
        A vectorized log-density of a two-dimensional target; its contours are drawn below the particles.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it; ``figure.savefig(path)`` saves it.
    """
    try:
        from steinbox.plotting.figure import Figure
    except ImportError:
        raise ImportError('pictures need matplotlib: pip install "steinbox[plot]"') from None
    if result.particles.shape[1] == 2:
        figure = Figure(figsize=(5, 5), layout="constrained")
        _draw_plane(figure.subplots(), result, log_prob)
        return figure
    num_panels = min(result.particles.shape[1], _MAX_PANELS)
    figure = Figure(figsize=(2 * num_panels + 1, 2 * num_panels + 1), layout="constrained")
    for row, panels in enumerate(figure.subplots(num_panels, num_panels, squeeze=False)):
        for column, axes in enumerate(panels):
            _draw_panel(axes, result, row, column, num_panels)
    return figure


def _draw_plane(axes: Axes, result: Result, log_prob: Callable[[Array], Any] | None) -> None:
    if log_prob is not None:
        _draw_contours(axes, result, log_prob)
    _draw_points(axes, result, 0, 1, size=14)
    axes.set(xlabel=_escape(result.names[0]), ylabel=_escape(result.names[1]))
    axes.set_title(f"{len(result.particles)} particles, {result.num_evals:,} evaluations", fontsize=10)


def _draw_contours(axes: Axes, result: Result, log_prob: Callable[[Array], Any]) -> None:
    """Filled contours of the density around the highest-density regions of 50% to 99% of what is shown."""
    low, high = result.particles.min(axis=0), result.particles.max(axis=0)
    margin = 0.15 * (high - low)
    first, second = (np.linspace(a, b, _NUM_GRID) for a, b in zip(low - margin, high + margin, strict=True))
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    points = grid.reshape(-1, 2)
    inside = np.full(len(points), True) if result.bounds is None else result.bounds.inside(points)
    values = np.full(len(points), -np.inf)
    values[inside] = np.nan_to_num(np.asarray(log_prob(points[inside]), dtype=np.float64), nan=-np.inf)
    density = np.exp(values - values.max()).reshape(grid.shape[:2])
    ordered = np.sort(density.ravel())[::-1]
    mass = np.cumsum(ordered) / ordered.sum()
    levels = [ordered[np.searchsorted(mass, part)] for part in _CONTOUR_MASSES]
    axes.contourf(first, second, density, levels=[*levels, density.max() * 1.001], cmap="Blues", alpha=0.8)


def _draw_panel(axes: Axes, result: Result, row: int, column: int, num_panels: int) -> None:
    if column > row:
        axes.set_axis_off()
        return
    if row == column:
        axes.hist(result.particles[:, row], bins=20, weights=result.weights, color=_COLOR, alpha=0.6)
        axes.set_yticks([])
    else:
        _draw_points(axes, result, column, row, size=5)
    if row == num_panels - 1:
        axes.set_xlabel(_escape(result.names[column]))
    if column == 0 and row > 0:
        axes.set_ylabel(_escape(result.names[row]))


def _draw_points(axes: Axes, result: Result, first: int, second: int, size: float) -> None:
    inside = result.weights > 0
    axes.scatter(
        result.particles[inside, first], result.particles[inside, second], s=size, color=_COLOR, edgecolors="none"
    )


def _escape(name: str) -> str:
    """A name that matplotlib shows as it is: dollar signs would start mathematics."""
    return name.replace("$", r"\$")
