r"""Basins of a sample: the modes that its points belong to, by their neighbors and log-densities.

Points are taken from the highest to the lowest. One that has no higher neighbor begins a basin; any other joins the
highest basin of its neighbors, and where it has neighbors in several it is the pass between them: a basin whose top is
less than ``min_drop`` above the pass is no mode of its own (Chazal, Guibas, Oudot & Skraba, 2013, "Persistence-based
clustering in Riemannian manifolds"). A ridge is one basin, however long and curved it is, and a few points between two
modes do not join them, since they are low.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray


def find_basins(points: Array, values: Array, num_neighbors: int, min_drop: float) -> IntegerArray:
    """The number of the basin of each of the points (n, d), from 0, which has the highest of all ``values``.

    Points that are there more than once count as one.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 1)) + np.repeat([[-4.0], [4.0]], [140, 60], axis=0)
    >>> values = np.logaddexp(np.log(0.7) - 0.5 * (x[:, 0] + 4) ** 2, np.log(0.3) - 0.5 * (x[:, 0] - 4) ** 2)
    >>> np.bincount(find_basins(x, values, num_neighbors=10, min_drop=2.0))
    array([140,  60])
    """
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    heights = values[first]
    neighbors = _neighbors(points[first], num_neighbors)
    parent: dict[int, int] = {}  # of a basin's top: itself, or that of the basin which it belongs to
    for point in np.argsort(-heights, kind="stable").tolist():
        tops = {_top(parent, other) for other in neighbors[point] if other in parent}
        highest = min(tops, key=lambda top: (-heights[top], top), default=point)
        parent[point] = highest
        parent.update({top: highest for top in tops if heights[top] - heights[point] < min_drop and top != highest})
    top_of = [_top(parent, point) for point in range(len(first))]
    order = sorted(set(top_of), key=lambda top: (-heights[top], top))
    return np.array([order.index(top) for top in top_of])[inverse.ravel()]


def _neighbors(points: Array, number: int) -> list[set[int]]:
    """Of each point those that are among its nearest, or that it is among the nearest of."""
    from scipy.spatial import cKDTree  # here, since `import steinbox` is to be light

    nearest = cKDTree(points).query(points, min(number + 1, len(points)))[1].reshape(len(points), -1)
    neighbors: list[set[int]] = [set(row) - {point} for point, row in enumerate(nearest.tolist())]
    for point, row in enumerate(nearest.tolist()):
        for other in row:
            neighbors[other].add(point)
    return neighbors


def _top(parent: dict[int, int], point: int) -> int:
    while parent[point] != point:
        point = parent[point]
    return point
