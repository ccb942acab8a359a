r"""The topograph of a sample: which points are local maxima, as far as a sample can tell.

Every point has an arc to each of its k nearest neighbors that is lower. A point with k lower neighbors is a maximum of
the graph (Törn & Viitanen, 1992, "Topographical global optimization"). There is about one in every basin that the
sample has resolved, however far the sample is from its bottom: the place to begin a climb.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray


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
    neighbors = _nearest(points, number)
    maxima = np.flatnonzero(values > values[neighbors].max(axis=1))
    maxima = maxima[np.argsort(-values[maxima], kind="stable")]
    return maxima, neighbors[maxima]


def _nearest(points: Array, number: int) -> IntegerArray:
    """The rows of so many other points that are nearest to each."""
    from scipy.spatial import cKDTree  # slow to import

    found = np.asarray(cKDTree(points).query(points, number + 1)[1])
    is_itself = found == np.arange(len(points))[:, None]
    is_itself[~is_itself.any(axis=1), -1] = True  # of many points in one place
    return np.asarray(found[~is_itself].reshape(len(points), number))
