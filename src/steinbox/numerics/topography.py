r"""The topograph of a sample: which points are local maxima, as far as a sample can tell.

Every point has an arc to each of its k nearest neighbors that is lower. A point with k lower neighbors is a maximum of
the graph (Törn & Viitanen, 1992, "Topographical global optimization"). There is about one in every basin that the
sample has resolved, however far the sample is from its bottom: the place to begin a climb.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.pairwise.tiles import row_tiles


def graph_maxima(points: Array, values: Array, num_neighbors: int) -> tuple[IntegerArray, IntegerArray]:
    """The rows of points (n, d) that are higher than all their nearest neighbors, the highest first.

    The more neighbors, the fewer maxima of which one is spurious, and the larger a basin must be to have one.

    Returns
    -------
    maxima : (m,) array of int
    neighbors : (m, num_neighbors) array of int
        Of each maximum; fewer if there are not so many points.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(-4, 4, size=(200, 1))
    >>> maxima, _ = graph_maxima(x, np.cos(x[:, 0] * np.pi / 2) - 0.01 * x[:, 0] ** 2, num_neighbors=10)
    >>> x[maxima, 0].round(1)  # cosines have their tops at 0, 4 and -4
    array([-0.,  4., -4.])
    """
    number = min(num_neighbors, len(points) - 1)
    if number < 1:
        return np.arange(len(points)), np.empty((len(points), 0), dtype=np.int64)
    order = np.argsort(-values, kind="stable")
    maxima = order[_has_lower_neighbors(points[order], values[order], number)]
    squares = squared_distances(points[maxima], points)
    squares[np.arange(len(maxima)), maxima] = np.inf
    return maxima, np.argpartition(squares, number - 1, axis=1)[:, :number]


def _has_lower_neighbors(points: Array, values: Array, number: int) -> Mask:
    """Of points in descending order of their values: whether so many are nearer than any that is as high."""
    found = np.empty(len(points), dtype=bool)
    num_as_high = np.searchsorted(-values, -values, side="right")
    for rows in row_tiles(len(points)):
        squares = squared_distances(points[rows], points)
        start, last = rows.start, int(num_as_high[rows][-1])
        np.fill_diagonal(squares[:, start:], np.inf)
        is_as_high = np.arange(start, last) < num_as_high[rows, None]
        nearest = np.min(squares[:, start:last], axis=1, where=is_as_high, initial=np.inf)
        nearest = np.minimum(nearest, squares[:, :start].min(axis=1, initial=np.inf))
        found[rows] = (squares < nearest[:, None]).sum(axis=1) >= number
    return found
