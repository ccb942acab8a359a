"""The corner plot: every parameter, and every pair of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.plotting.canvas import (
    PARTICLES,
    POOL,
    TRUTH,
    draw_pool,
    draw_target,
    find_columns,
    find_range,
    find_truth,
    new_figure,
    tidy,
)
from steinbox.plotting.text import escape
from steinbox.run.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_PARAMETERS = 8  # shown, unless names= asks for others
_NUM_BINS = 40


def corner(
    result: Result,
    *,
    names: Sequence[str] | None = None,
    truth: Mapping[str, float] | Sequence[float] | None = None,
    log_prob: Callable[[Array], Any] | None = None,
    fig: Figure | None = None,
) -> Figure:
    """Every parameter and every pair of them: the weighted pool in blue, the particles on top in red.

    The shaded regions hold half and nine tenths of the weight of the pool; a histogram is of the pool, too, with a tick
    for every particle.

    Parameters
    ----------
    result : Result
    names : sequence of str, optional
        The parameters to show; if not given, the first eight.
    truth : mapping of str to float, or sequence of d floats, optional
        Where to draw lines.
    log_prob : callable, optional
        A vectorized log-density of a two-dimensional target, whose contours then take the place of the pool's.
    fig : matplotlib.figure.Figure, optional
        Where to draw; if not given, a new one.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig(path)``.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.targets.Banana()
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, max_evals=2_000, seed=0)
    >>> figure = sb.plotting.corner(result, truth=[0.0, 0.0])
    >>> len(figure.axes)
    3
    """
    columns, values = find_columns(result, names, _MAX_PARAMETERS), find_truth(result, truth)
    size = len(columns)
    fig = new_figure(fig, 2 * size + 1, 2 * size + 1)
    is_plane = log_prob is not None and len(result.names) == 2
    grid = fig.add_gridspec(size, size)
    for row, second in enumerate(columns):
        for place, first in enumerate(columns[: row + 1]):
            axes = fig.add_subplot(grid[row, place])
            axes.set_xlim(find_range(result, first, values[first]))
            if row == place:
                _draw_one(axes, result, first, values[first])
            else:
                axes.set_ylim(find_range(result, second, values[second]))
                _draw_pair(axes, result, first, second, values, log_prob if is_plane else None)
            _label(axes, result, first, second, is_bottom=row == size - 1, is_left=place == 0 and row > 0)
    fig.suptitle(_describe(result, size), fontsize=9)
    return fig


def _draw_one(axes: Axes, result: Result, column: int, truth: float) -> None:
    axes.hist(
        result.pool[:, column], _NUM_BINS, range=axes.get_xlim(), weights=result.pool_weights, color=POOL, alpha=0.4
    )
    particles = result.particles[result.weights > 0, column]
    axes.plot(particles, np.zeros(len(particles)), "|", color=PARTICLES, markersize=6, alpha=0.5)
    if np.isfinite(truth):
        axes.axvline(truth, color=TRUTH, lw=1)
    axes.set_yticks([])


def _draw_pair(
    axes: Axes, result: Result, first: int, second: int, truth: Array, log_prob: Callable[[Array], Any] | None
) -> None:
    if log_prob is None:
        draw_pool(axes, result.pool[:, first], result.pool[:, second], result.pool_weights)
    else:
        draw_target(axes, log_prob, result)
    inside = result.weights > 0
    x, y = result.particles[inside, first], result.particles[inside, second]
    axes.scatter(x, y, s=8, color=PARTICLES, edgecolors="none", alpha=0.8)
    if np.isfinite(truth[first]):
        axes.axvline(truth[first], color=TRUTH, lw=1)
    if np.isfinite(truth[second]):
        axes.axhline(truth[second], color=TRUTH, lw=1)


def _label(axes: Axes, result: Result, first: int, second: int, *, is_bottom: bool, is_left: bool) -> None:
    tidy(axes)
    axes.set_xlabel(escape(result.labels[first]) if is_bottom else "")
    axes.set_ylabel(escape(result.labels[second]) if is_left else "")
    axes.tick_params(labelbottom=is_bottom, labelleft=is_left)


def _describe(result: Result, num_shown: int) -> str:
    shown = "" if num_shown == len(result.names) else f"{num_shown} of {len(result.names)} parameters, "
    return f"{shown}{len(result.particles):,} particles, {result.num_evals:,} evaluations"
