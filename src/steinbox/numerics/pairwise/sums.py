"""Sums of kernels: at given centers with values, gradients and logarithms, and over all pairs."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise.distances import centered_squared_distances
from steinbox.numerics.pairwise.tiles import Panel, distance_factors, map_triangle, row_tiles

_MAX_TILE_PAIRS = 200_000  # entries of a tile whose width is the number of centers
_SCATTER_ROWS = 16  # points whose gradients are held together


def kernel_expansion(
    x: Array, centers: Array, coefficients: Array, kernel: Kernel, bandwidth: float
) -> tuple[Array, Array]:
    r"""Values and gradients at ``x`` of :math:`g(x) = \sum_j c_j k(x, y_j)` with centers :math:`y_j`.

    Returns
    -------
    values : (n,) array
    gradients : (n, d) array
    """
    origin = centers.mean(axis=0)
    x, centers = x - origin, centers - origin
    of_slope = (2 / bandwidth) * coefficients[:, None] * np.column_stack([centers, np.ones(len(centers))])
    values, gradients = np.empty(len(x)), np.empty_like(x)
    for rows in row_tiles(len(x)):
        u = centered_squared_distances(x[rows], centers) / bandwidth
        value = kernel.value(u)
        values[rows] = value @ coefficients
        sums = (value * kernel.slope_ratio(u)) @ of_slope
        gradients[rows] = x[rows] * sums[:, -1:] - sums[:, :-1]
    return values, gradients


def kernel_sums(x: Array, centers: Array, coefficients: Array, kernel: Kernel, bandwidth: float) -> Array:
    r"""The values of :func:`kernel_expansion` alone, in single precision, which takes a quarter of the time."""
    origin = centers.mean(axis=0)
    left = distance_factors(x - origin, 1 / bandwidth)[0].astype(np.float32)
    right = distance_factors(centers - origin, 1.0)[1].astype(np.float32)
    values, single = np.empty(len(x)), coefficients.astype(np.float32)
    for rows in row_tiles(len(x), max(1, _MAX_TILE_PAIRS // len(centers))):
        u = left[rows] @ right.T
        values[rows] = kernel.value(np.maximum(u, 0, out=u)) @ single
    return values


def kernel_expansion_slopes(x: Array, coefficients: Array, kernel: Kernel, bandwidth: float) -> Array:
    r"""Gradients at every :math:`x_i` of a separate function, :math:`g_i(x) = \sum_j C_{ij} k(x, x_j)`.

    Parameters
    ----------
    x : (n, d) array
    coefficients : (n, n) array
    """
    x = x - x.mean(axis=0)
    columns = (2 / bandwidth) * np.column_stack([x, np.ones(len(x))])
    gradients = np.empty_like(x)
    for rows in row_tiles(len(x)):
        u = centered_squared_distances(x[rows], x) / bandwidth
        sums = (coefficients[rows] * kernel.value(u) * kernel.slope_ratio(u)) @ columns
        gradients[rows] = x[rows] * sums[:, -1:] - sums[:, :-1]
    return gradients


def kernel_gradient_scatter(x: Array, centers: Array, kernel: Kernel, bandwidth: float) -> Array:
    r"""The scatter :math:`\sum_j (g_j - \bar g)(g_j - \bar g)^\top` of the gradients :math:`g_j = \nabla_x k(x, y_j)`.

    A few points at a time, with all their gradients: written as sums of outer products, rounding would make it
    indefinite far from the centers.

    Returns
    -------
    (n, d, d) array
    """
    scatter = np.empty((len(x), x.shape[1], x.shape[1]))
    for rows in row_tiles(len(x), _SCATTER_ROWS):
        offsets = x[rows, None] - centers
        u = np.einsum("nmi,nmi->nm", offsets, offsets) / bandwidth
        offsets *= ((2 / bandwidth) * kernel.value(u) * kernel.slope_ratio(u))[..., None]
        offsets -= offsets.mean(axis=1, keepdims=True)
        scatter[rows] = offsets.transpose(0, 2, 1) @ offsets
    return scatter


def log_kernel_expansion(
    x: Array, centers: Array, log_coefficients: Array, kernel: Kernel, bandwidth: float
) -> tuple[Array, Array]:
    r"""The logarithm of :math:`g(x) = \sum_j c_j k(x, y_j)`, all :math:`c_j \ge 0`, and its gradient.

    Each row is shifted by its largest term, so nothing overflows and at least one term survives, whatever the range of
    the coefficients.
    """
    origin = centers.mean(axis=0)
    x, centers = x - origin, centers - origin
    log_values, gradients = np.empty(len(x)), np.empty_like(x)
    for rows in row_tiles(len(x)):
        u = centered_squared_distances(x[rows], centers) / bandwidth
        log_terms = kernel.log_value(u) + log_coefficients
        largest = log_terms.max(axis=1, keepdims=True)
        terms = np.exp(log_terms - largest)
        total = terms.sum(axis=1, keepdims=True)
        log_values[rows] = (largest + np.log(total))[:, 0]
        slopes = (2 / bandwidth) * kernel.slope_ratio(u) * terms / total
        gradients[rows] = x[rows] * slopes.sum(axis=1, keepdims=True) - slopes @ centers
    return log_values, gradients


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

    def add_up(panel: Panel) -> float:
        left, right, total = weights[panel.rows], weights[panel.columns], 0.0
        for rows, columns, u, is_diagonal in panel:
            total += (1 if is_diagonal else 2) * float(left[rows] @ kernel.value(u) @ right[columns])
        return total

    return sum(map_triangle(add_up, x - x.mean(axis=0), 1 / bandwidth))
