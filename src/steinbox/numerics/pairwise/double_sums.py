"""Sums of a kernel over all pairs, weighted on both sides."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise.tiles import TriangleTiles, distance_factors, row_tiles


def weighted_kernel_mean(
    x: Array, x_weights: Array, y: Array, y_weights: Array, kernel: Kernel, bandwidth: float
) -> float:
    r"""The double sum :math:`\sum_{ij} a_i b_j k(x_i, y_j)`."""
    origin = y.mean(axis=0)
    left, right = distance_factors(x - origin, 1 / bandwidth)[0], distance_factors(y - origin, 1.0)[1]
    total = 0.0
    for rows in row_tiles(len(x)):
        for columns in row_tiles(len(y)):
            u = left[rows] @ right[columns].T
            value = kernel.value(np.maximum(u, 0.0, out=u))
            total += float(x_weights[rows] @ value @ y_weights[columns])
    return total


def weighted_kernel_square(x: Array, weights: Array, kernel: Kernel, bandwidth: float) -> float:
    r"""The double sum :math:`\sum_{ij} a_i a_j k(x_i, x_j)`, every pair looked at once."""
    total = 0.0
    for rows, columns, u in TriangleTiles(x - x.mean(axis=0), 1 / bandwidth):
        value = kernel.value(np.maximum(u, 0.0, out=u))
        total += (1 if rows == columns else 2) * float(weights[rows] @ value @ weights[columns])
    return total
