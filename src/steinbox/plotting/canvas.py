"""What all pictures share: figures, colors, and which parameters are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter

from steinbox.common.arrays import Array
from steinbox.plotting.text import import_figure
from steinbox.run.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTICLES = "#b3202c"
POOL = "#4c78a8"
TRUTH = "#111111"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by all eyes (Okabe & Ito)
_NUM_GRID = 200  # points of a contour plot along each axis
_TARGET_MASSES = (0.99, 0.95, 0.8, 0.5)  # probability inside each contour of the target
_POOL_MASSES = (0.9, 0.5)  # and of the weighted pool
_NUM_BINS = 40  # along each axis, for contours of the pool
_SMOOTHING = 1.5  # bins
_SHOWN_MASS = 0.998  # of the pool, between the ends of an axis


def new_figure(fig: Figure | None, width: float, height: float) -> Figure:
    """The user's figure, or a new one of this size in inches."""
    if fig is not None:
        return fig
    return import_figure()(figsize=(width, height), layout="constrained")


def new_axes(ax: Axes | None) -> Axes:
    """The user's axes, or those of a new figure."""
    return new_figure(None, 5, 5).subplots() if ax is None else ax


def find_columns(result: Result, names: Sequence[str] | None, most: int) -> list[int]:
    """The columns of these parameters, or of the first ones."""
    if names is None:
        return list(range(min(len(result.names), most)))
    if isinstance(names, str):
        raise TypeError(f"expected a sequence of names, got the text {names!r}; write names=[{names!r}]")
    unknown = [name for name in names if name not in result.names]
    if unknown:
        raise ValueError(f"expected names among {', '.join(result.names)}; got {', '.join(map(repr, unknown))}")
    return [result.names.index(name) for name in names]


def find_truth(result: Result, truth: Mapping[str, float] | Sequence[float] | None) -> Array:
    """The true value of every parameter, NaN where none was given."""
    if truth is None:
        return np.full(len(result.names), np.nan)
    if isinstance(truth, Mapping):
        find_columns(result, list(truth), 0)
        return np.array([truth.get(name, np.nan) for name in result.names], dtype=np.float64)
    values = np.asarray(truth, dtype=np.float64)
    if values.shape != (len(result.names),):
        raise ValueError(f"expected truth to have {len(result.names)} values or be a mapping, got shape {values.shape}")
    return values


def find_range(result: Result, column: int, truth: float = np.nan) -> tuple[float, float]:
    """The ends of a parameter's axis: nearly all of the pool, all particles, and the truth."""
    tail = (1 - _SHOWN_MASS) / 2
    pool = np.quantile(
        result.pool[:, column], [tail, 1 - tail], weights=result.pool_weights, method="inverted_cdf", axis=0
    )
    particles = result.particles[result.weights > 0, column]
    low, high = np.nanmin([pool[0], particles.min(), truth]), np.nanmax([pool[1], particles.max(), truth])
    margin = 0.05 * (high - low) or 0.5
    return float(low - margin), float(high + margin)


def draw_target(axes: Axes, log_prob: Callable[[Array], Any], result: Result) -> None:
    """Filled contours of a two-dimensional density, over all that the axes show."""
    first, second = (np.linspace(*ends, _NUM_GRID) for ends in (axes.get_xlim(), axes.get_ylim()))
    points = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    inside = np.full(len(points), True) if result.bounds is None else result.bounds.inside(points)
    values = np.full(len(points), -np.inf)
    values[inside] = np.nan_to_num(np.asarray(log_prob(points[inside]), dtype=np.float64), nan=-np.inf)
    density = np.exp(values - values.max()).reshape(_NUM_GRID, _NUM_GRID)
    axes.contourf(first, second, density, levels=find_levels(density, _TARGET_MASSES), cmap="Blues", alpha=0.8)


def draw_pool(axes: Axes, x: Array, y: Array, weights: Array) -> None:
    """Contours around half and nine tenths of the weighted points within the axes.

    They are contours of a smoothed density, which is wider than the points; what they hold is counted in points.
    """
    counted, *edges = np.histogram2d(
        x, y, bins=_NUM_BINS, range=(axes.get_xlim(), axes.get_ylim()), weights=weights, density=False
    )
    density = gaussian_filter(counted.T, _SMOOTHING)
    if density.max() > 0:
        first, second = (0.5 * (edge[1:] + edge[:-1]) for edge in edges)
        levels = find_levels(density, _POOL_MASSES, counted.T)
        axes.contourf(first, second, density, levels=levels, colors=[POOL], alpha=0.25)
        axes.contour(first, second, density, levels=levels[:-1], colors=[POOL], linewidths=0.8)


def find_levels(density: Array, masses: Sequence[float], held: Array | None = None) -> list[float]:
    """The levels around regions of highest density that hold these masses, and one above all, increasing.

    ``held`` is the mass of every cell; if it is not given, the density.

    Examples
    --------
    >>> import numpy as np
    >>> find_levels(np.array([[4.0, 3.0], [2.0, 1.0]]), (0.95, 0.65))
    [1.0, 3.0, 4.004]
    """
    order = np.argsort(-density, axis=None, kind="stable")
    ordered = density.ravel()[order]
    inside = np.cumsum((density if held is None else held).ravel()[order])
    inside /= inside[-1]
    levels = [float(ordered[min(int(np.searchsorted(inside, mass)), ordered.size - 1)]) for mass in masses]
    return [*sorted(set(levels)), float(ordered[0]) * 1.001]


def tidy(axes: Axes) -> None:
    """Small text, and no frame where it says nothing."""
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label):
        text.set_fontsize(9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
