"""Squared distances between points; their median; scales of coordinates."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.pairwise.tiles import Panel, map_triangle, row_tiles

_BRACKET_PAIRS = 4_096  # random pairs that bracket the median of all pairs
_MAX_POINTS_FOR_ALL_PAIRS = 5_000  # beyond, the median of random pairs
_RANDOM_PAIRS = 1_000_000  # how many of them
_RANDOM_PAIRS_PER_TILE = 100_000


def squared_distances(x: Array, y: Array) -> Array:
    r"""All :math:`\|x_i - y_j\|^2`, by one Gram product of points centered at the mean of ``y``.

    Centering keeps the cancellation in :math:`\|x\|^2 + \|y\|^2 - 2 x^\top y` harmless far from the origin.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]]))
    array([[25., 16.]])
    """
    center = y.mean(axis=0)
    return centered_squared_distances(x - center, y - center)


def centered_squared_distances(x: Array, y: Array) -> Array:
    r"""All :math:`\|x_i - y_j\|^2` of points that are centered already."""
    distances = x @ y.T
    distances *= -2.0
    distances += np.einsum("id,id->i", x, x)[:, None]
    distances += np.einsum("jd,jd->j", y, y)[None, :]
    return np.maximum(distances, 0.0, out=distances)


def median_squared_distance(x: Array) -> float:
    r"""The squared median of the n(n−1)/2 distances between different points.

    Of many pairs a random sample brackets the median; one pass over the tiles counts the pairs below the bracket and
    keeps those inside it, and the median is one of these. If the bracket misses it, all pairs are kept: the result is
    exact in any case. Beyond 5,000 points it is the median of a fixed random million of the pairs. Distances that are
    nothing but rounding count as zero.

    Examples
    --------
    >>> import numpy as np
    >>> median_squared_distance(np.array([[0.0], [1.0], [3.0]]))
    4.0
    """
    centered = x - x.mean(axis=0)
    rounding = 16 * np.finfo(np.float64).eps * (centered**2).sum(axis=1).max()
    is_exact = len(x) <= _MAX_POINTS_FOR_ALL_PAIRS
    median = _exact_median(centered) if is_exact else np.median(_random_pairs(centered, _RANDOM_PAIRS))
    return float(median) if median > rounding else 0.0


def _exact_median(centered: Array) -> float:
    """The median of the distances, squared. With an even count the median of the squares differs."""
    num_pairs = len(centered) * (len(centered) - 1) // 2
    lower, upper = (num_pairs - 1) // 2, num_pairs // 2
    bracket = _median_bracket(centered) if num_pairs > 25 * _BRACKET_PAIRS else (-np.inf, np.inf)
    num_below, inside = _pairs_in_bracket(centered, *bracket)
    if not num_below <= lower <= upper < num_below + len(inside):
        num_below, inside = _pairs_in_bracket(centered, -np.inf, np.inf)
    inside.partition(upper - num_below)
    above = inside[upper - num_below]
    below = above if lower == upper else inside[: upper - num_below].max()
    return float(((np.sqrt(max(below, 0.0)) + np.sqrt(max(above, 0.0))) / 2) ** 2)


def _median_bracket(centered: Array) -> tuple[float, float]:
    """Bounds of the median of all squared distances: four standard errors of a sample's median to each side."""
    sample = np.sort(_random_pairs(centered, _BRACKET_PAIRS))
    margin = 2 * int(np.sqrt(_BRACKET_PAIRS))
    return float(sample[_BRACKET_PAIRS // 2 - margin]), float(sample[_BRACKET_PAIRS // 2 + margin])


def _random_pairs(centered: Array, num_pairs: int) -> Array:
    """Squared distances of random pairs of different points, the same ones at every call."""
    rng = np.random.default_rng(0)
    first = rng.integers(len(centered), size=num_pairs)
    second = (first + rng.integers(1, len(centered), size=num_pairs)) % len(centered)
    squares = np.empty(num_pairs)
    for rows in row_tiles(num_pairs, _RANDOM_PAIRS_PER_TILE):
        squares[rows] = ((centered[first[rows]] - centered[second[rows]]) ** 2).sum(axis=1)
    return squares


def _pairs_in_bracket(centered: Array, low: float, high: float) -> tuple[int, Array]:
    """The number of pairs with squared distances below ``low``, and the squared distances from there to ``high``."""

    def look(panel: Panel) -> tuple[int, Array]:
        num_below, inside = 0, []
        for _, _, tile, is_diagonal in panel:
            is_below, is_inside = tile < low, (tile >= low) & (tile <= high)
            if is_diagonal:
                is_below, is_inside = np.triu(is_below, 1), np.triu(is_inside, 1)
            num_below += int(np.count_nonzero(is_below))
            inside.append(tile[is_inside])
        return num_below, np.concatenate(inside)

    counts, inside = zip(*map_triangle(look, centered), strict=True)
    return sum(counts), np.concatenate(inside)


def positive_std(x: Array) -> Array:
    """Standard deviations of the columns; zeros are replaced by a tiny number, so that one can divide by them."""
    scales = x.std(axis=0)
    smallest = 1e-8 * max(float(scales.max()), float(np.finfo(np.float64).tiny) ** 0.5)
    vanishes = scales <= 4 * np.finfo(np.float64).eps * np.abs(x).max(axis=0)
    return np.asarray(np.where(vanishes, smallest, scales))
