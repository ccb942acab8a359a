r"""The only :math:`O(n^2)` code of the package: sums over pairs of points, tiled.

Squared distances come from one Gram product of centred points; the sums are thin matrix products with the kernel
matrix. No array here is larger than ``TILE × n``, and none is n × n × d.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.kernels import Kernel
from steinbox.types import Array

TILE = 512  # rows of a tile: 2 MB of float64, so that a tile and its exponential stay in the cache

_EXACT_MEDIAN_PAIRS = 2_000  # below this many points the median looks at every pair
_SAMPLED_PAIRS = 200_000


def squared_distances(x: Array, y: Array) -> Array:
    r"""All :math:`\|x_i - y_j\|^2`, by one Gram product of points centred at the mean of ``y``.

    Centring keeps the cancellation in :math:`\|x\|^2 + \|y\|^2 - 2 x^\top y` harmless far from the origin.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]]))
    array([[25., 16.]])

    """
    centre = y.mean(axis=0)
    return _centred_squared_distances(x - centre, y - centre)


def _centred_squared_distances(x: Array, y: Array) -> Array:
    distances = x @ y.T
    distances *= -2.0
    distances += np.einsum("id,id->i", x, x)[:, None]
    distances += np.einsum("jd,jd->j", y, y)[None, :]
    return np.maximum(distances, 0.0, out=distances)


def _row_tiles(num_rows: int) -> Iterator[slice]:
    return (slice(start, min(start + TILE, num_rows)) for start in range(0, num_rows, TILE))


def _upper_tiles(num_rows: int) -> Iterator[tuple[slice, slice]]:
    """Tiles (rows, columns) that cover the upper triangle, the diagonal tiles whole."""
    for rows in _row_tiles(num_rows):
        for columns in _row_tiles(num_rows):
            if columns.start >= rows.start:
                yield rows, columns


def median_squared_distance(x: Array) -> float:
    r"""The squared median of the n(n−1)/2 distances between different points.

    Up to 2,000 points every pair counts; above, a fixed set of 200,000 random pairs stands for all of them, which moves
    the result by a few parts in a thousand.

    Examples
    --------
    >>> import numpy as np
    >>> median_squared_distance(np.array([[0.0], [1.0], [3.0]]))
    4.0

    """
    num_points = len(x)
    if num_points > _EXACT_MEDIAN_PAIRS:
        distances = _sampled_squared_distances(x)
    else:
        x = x - x.mean(axis=0)
        distances = _centred_squared_distances(x, x)[np.triu_indices(num_points, 1)]
    # The median of the distances, then squared: with an even count this differs from the median of the squares.
    middle = len(distances) // 2
    if len(distances) % 2:
        return float(np.partition(distances, middle)[middle])
    lower, upper = np.partition(distances, (middle - 1, middle))[middle - 1 : middle + 1]
    return float(((np.sqrt(lower) + np.sqrt(upper)) / 2) ** 2)


def _sampled_squared_distances(x: Array) -> Array:
    rng = np.random.default_rng(0)
    first = rng.integers(len(x), size=_SAMPLED_PAIRS)
    second = (first + rng.integers(1, len(x), size=_SAMPLED_PAIRS)) % len(x)
    return np.asarray(((x[first] - x[second]) ** 2).sum(axis=1))


def stein_sums(
    x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0
) -> Array:
    r"""The sums of the Stein direction at every particle,

    .. math:: \phi(x_i) = \sum_j w_j \big[ s_j k(x_j, x_i) + c \nabla_{x_j} k(x_j, x_i) \big].

    With :math:`a = f'/f` and :math:`u_{ij} = \|x_i - x_j\|^2 / h` the second term is
    :math:`\tfrac{2c}{h} a(u_{ij}) k_{ij} (x_j - x_i)`, so that all of it is products of the kernel matrix with d + 1
    columns. A tile serves its rows and, transposed, its columns.

    Parameters
    ----------
    x, score : (n, d) arrays
    weights : (n,) array
    kernel : Kernel
    bandwidth : float
        The h in :math:`u`.
    repulsion : float
        The factor c of the repulsive term.

    """
    x = x - x.mean(axis=0)
    driving = weights[:, None] * np.column_stack([score, np.zeros(len(x))])
    repelling = (2 * repulsion / bandwidth) * weights[:, None] * np.column_stack([x, np.ones(len(x))])
    sums = np.zeros_like(driving)
    for rows, columns in _upper_tiles(len(x)):
        u = _centred_squared_distances(x[rows], x[columns])
        u /= bandwidth
        forces = _KernelProduct(kernel, u)
        sums[rows] += forces.times(driving[columns], repelling[columns])
        if rows != columns:
            sums[columns] += forces.transposed_times(driving[rows], repelling[rows])
    return np.asarray(sums[:, :-1] - x * sums[:, -1:])


class _KernelProduct:
    """Products f(u) A + f'(u) B of one tile; where f'/f is a number they take one kernel matrix."""

    def __init__(self, kernel: Kernel, u: Array) -> None:
        self.ratio = kernel.slope_ratio(u)
        self.value = kernel.value(u)
        self.slope = self.value * self.ratio if isinstance(self.ratio, np.ndarray) else None

    def times(self, of_value: Array, of_slope: Array) -> Array:
        if self.slope is None:
            return np.asarray(self.value @ (of_value + self.ratio * of_slope))
        return np.asarray(self.value @ of_value + self.slope @ of_slope)

    def transposed_times(self, of_value: Array, of_slope: Array) -> Array:
        if self.slope is None:
            return np.asarray(self.value.T @ (of_value + self.ratio * of_slope))
        return np.asarray(self.value.T @ of_value + self.slope.T @ of_slope)


def kernel_expansion(
    x: Array, centres: Array, coefficients: Array, kernel: Kernel, bandwidth: float
) -> tuple[Array, Array]:
    r"""Values and gradients at ``x`` of :math:`g(x) = \sum_j c_j k(x, y_j)` with centres :math:`y_j`.

    Returns
    -------
    values : (n,) array
    gradients : (n, d) array

    """
    origin = centres.mean(axis=0)
    x, centres = x - origin, centres - origin
    of_slope = (2 / bandwidth) * coefficients[:, None] * np.column_stack([centres, np.ones(len(centres))])
    values, gradients = np.empty(len(x)), np.empty_like(x)
    for rows in _row_tiles(len(x)):
        u = _centred_squared_distances(x[rows], centres) / bandwidth
        value = kernel.value(u)
        values[rows] = value @ coefficients
        sums = (value * kernel.slope_ratio(u)) @ of_slope
        gradients[rows] = x[rows] * sums[:, -1:] - sums[:, :-1]
    return values, gradients


def log_kernel_expansion(
    x: Array, centres: Array, log_coefficients: Array, kernel: Kernel, bandwidth: float
) -> tuple[Array, Array]:
    r"""The logarithm of :math:`g(x) = \sum_j c_j k(x, y_j)`, all :math:`c_j \ge 0`, and its gradient.

    Each row is shifted by its largest term, so nothing overflows and at least one term survives, whatever the range of
    the coefficients.
    """
    origin = centres.mean(axis=0)
    x, centres = x - origin, centres - origin
    log_values, gradients = np.empty(len(x)), np.empty_like(x)
    for rows in _row_tiles(len(x)):
        u = _centred_squared_distances(x[rows], centres) / bandwidth
        log_terms = kernel.log_value(u) + log_coefficients
        largest = log_terms.max(axis=1, keepdims=True)
        terms = np.exp(log_terms - largest)
        total = terms.sum(axis=1, keepdims=True)
        log_values[rows] = (largest + np.log(total))[:, 0]
        slopes = (2 / bandwidth) * kernel.slope_ratio(u) * terms / total
        gradients[rows] = x[rows] * slopes.sum(axis=1, keepdims=True) - slopes @ centres
    return log_values, gradients


def weighted_kernel_mean(
    x: Array, x_weights: Array, y: Array, y_weights: Array, kernel: Kernel, bandwidth: float
) -> float:
    r"""The double sum :math:`\sum_{ij} a_i b_j k(x_i, y_j)`."""
    origin = y.mean(axis=0)
    x, y = x - origin, y - origin
    total = 0.0
    for rows in _row_tiles(len(x)):
        for columns in _row_tiles(len(y)):
            u = _centred_squared_distances(x[rows], y[columns]) / bandwidth
            total += float(x_weights[rows] @ kernel.value(u) @ y_weights[columns])
    return total
