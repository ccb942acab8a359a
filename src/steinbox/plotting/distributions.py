"""The marginal distribution of every parameter, beside its prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.plotting.canvas import POOL, SERIES, TRUTH, find_columns, find_range, find_truth, new_figure, tidy
from steinbox.plotting.text import escape
from steinbox.run.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_PARAMETERS = 50
_NUM_COLUMNS = 5
_NUM_BINS = 40
_INTERVAL = (0.05, 0.5, 0.95)


def marginals(
    result: Result,
    *,
    names: Sequence[str] | None = None,
    prior: Mapping[str, Any] | None = None,
    truth: Mapping[str, float] | Sequence[float] | None = None,
    fig: Figure | None = None,
) -> Figure:
    """The distribution of every parameter in the weighted pool, with its median and 90% interval.

    Parameters
    ----------
    result : Result
    names : sequence of str, optional
        The parameters to show; if not given, the first fifty.
    prior : mapping of str to scipy.stats distribution, optional
        Frozen distributions whose ``pdf`` is drawn as a line.
    truth : mapping of str to float, or sequence of d floats, optional
        Where to draw lines.
    fig : matplotlib.figure.Figure, optional
        Where to draw; if not given, a new one.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import steinbox as sb
    >>> result = sb.sample(sb.Gaussian([0.0, 1.0], std=1).log_prob, sb.Gaussian([0, 0], std=3), vectorized=True,
    ...                    names=["slope", "offset"], max_evals=2_000, seed=0)
    >>> [axes.get_xlabel() for axes in sb.plotting.marginals(result).axes]
    ['slope', 'offset']
    """
    columns, values = find_columns(result, names, _MAX_PARAMETERS), find_truth(result, truth)
    find_columns(result, list(prior or {}), 0)
    num_columns = min(len(columns), _NUM_COLUMNS)
    num_rows = -(-len(columns) // num_columns)
    fig = new_figure(fig, 2.4 * num_columns, 2.1 * num_rows)
    grid = fig.add_gridspec(num_rows, num_columns)
    for place, column in enumerate(columns):
        axes = fig.add_subplot(grid[divmod(place, num_columns)])
        axes.set_xlim(find_range(result, column, values[column]))
        _draw(axes, result, column, (prior or {}).get(result.names[column]), values[column])
    return fig


def _draw(axes: Axes, result: Result, column: int, prior: Any, truth: float) -> None:
    points, weights, ends = result.pool[:, column], result.pool_weights, axes.get_xlim()
    axes.hist(points, _NUM_BINS, range=ends, density=True, weights=weights, color=POOL, alpha=0.4)
    low, middle, high = np.quantile(points, _INTERVAL, weights=weights, method="inverted_cdf")
    axes.plot([low, high], [0, 0], color=POOL, lw=3, solid_capstyle="butt", clip_on=False)
    axes.plot([middle], [0], "o", color=POOL, ms=5, clip_on=False)
    if prior is not None:
        x = np.linspace(*ends, 200)
        axes.plot(x, prior.pdf(x), color=SERIES[1], lw=1.2, label="prior")
        axes.legend(fontsize=7, frameon=False)
    if np.isfinite(truth):
        axes.axvline(truth, color=TRUTH, lw=1)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(escape(result.labels[column]))
    tidy(axes)
