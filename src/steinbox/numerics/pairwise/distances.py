"""Squared distances between two sets of points."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array


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
