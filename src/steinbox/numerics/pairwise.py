r"""The only :math:`O(n^2)` code of the package: sums over pairs of points, tiled.

Squared distances come from one Gram product of centred points; the sums are thin matrix products with the kernel
matrix. No array here is larger than ``TILE × n``, none is n × n × d.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import Kernel

TILE = 256  # most rows of a tile: half a megabyte, so that a tile and its exponential stay in the cache
_TILE_PAIRS = 200_000  # most entries of a tile whose width is the number of centres
_TILE_PRODUCTS = 500_000  # most multiplications in a square tile: from 2^19 OpenBLAS starts threads, which cost more
_BRACKET_PAIRS = 4_096  # random pairs that bracket the median of all pairs
_MOST_POINTS_FOR_ALL_PAIRS, _MANY_PAIRS = 5_000, 1_000_000  # beyond these points, the median of so many random pairs


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


def _row_tiles(num_rows: int, height: int | None = None) -> Iterator[slice]:
    height = height or TILE
    return (slice(start, min(start + height, num_rows)) for start in range(0, num_rows, height))


def _distance_factors(centred: Array, factor: float) -> tuple[Array, Array]:
    """Rows l_i and r_j with l_i · r_j = c ‖x_i − x_j‖², also between the points of two sets; below zero by rounding."""
    norms, ones = np.einsum("id,id->i", centred, centred), np.ones(len(centred))
    return factor * np.column_stack([-2 * centred, norms, ones]), np.column_stack([centred, ones, norms])


class _TriangleTiles:
    """Square tiles of c ‖x_i − x_j‖² that cover the upper triangle, the diagonal tiles whole.

    Each is one product of points with two more columns, in a buffer that the next tile uses again: fresh memory would
    cost more in page faults than what is written to it. Entries may be below zero by rounding.
    """

    def __init__(self, centred: Array, factor: float = 1.0) -> None:
        self._left, self._right = _distance_factors(centred, factor)
        side = min(TILE, max(32, int(np.sqrt(_TILE_PRODUCTS / self._left.shape[1]))))
        self._blocks = list(_row_tiles(len(centred), side))
        self._buffer = np.empty(side**2)

    def __iter__(self) -> Iterator[tuple[slice, slice, Array]]:
        for number, rows in enumerate(self._blocks):
            for columns in self._blocks[number:]:
                shape = rows.stop - rows.start, columns.stop - columns.start
                tile = self._buffer[: shape[0] * shape[1]].reshape(shape)
                yield rows, columns, np.matmul(self._left[rows], self._right[columns].T, out=tile)


def median_squared_distance(x: Array) -> float:
    r"""The squared median of the n(n−1)/2 distances between different points.

    Of many pairs a random sample brackets the median; one pass over the tiles counts the pairs below the bracket and
    keeps those inside it, and the median is one of these. If the sample misled, all pairs are kept: the result is exact
    in any case. Beyond 5,000 points it is the median of a fixed random million of the pairs. Distances that are
    nothing but rounding count as zero.

    Examples
    --------
    >>> import numpy as np
    >>> median_squared_distance(np.array([[0.0], [1.0], [3.0]]))
    4.0
    """
    centred = x - x.mean(axis=0)
    rounding = 16 * np.finfo(np.float64).eps * (centred**2).sum(axis=1).max()
    median = (
        _median(centred) if len(x) <= _MOST_POINTS_FOR_ALL_PAIRS else np.median(_random_pairs(centred, _MANY_PAIRS))
    )
    return float(median) if median > rounding else 0.0


def _median(centred: Array) -> float:
    """The exact one: the median of the distances, squared. With an even count the median of the squares differs."""
    num_pairs = len(centred) * (len(centred) - 1) // 2
    lower, upper = (num_pairs - 1) // 2, num_pairs // 2
    bracket = _median_bracket(centred) if num_pairs > 25 * _BRACKET_PAIRS else (-np.inf, np.inf)
    num_below, inside = _pairs_in_bracket(centred, *bracket)
    if not num_below <= lower <= upper < num_below + len(inside):
        num_below, inside = _pairs_in_bracket(centred, -np.inf, np.inf)
    inside.partition(upper - num_below)
    above = inside[upper - num_below]
    below = above if lower == upper else inside[: upper - num_below].max()
    return float(((np.sqrt(max(below, 0.0)) + np.sqrt(max(above, 0.0))) / 2) ** 2)


def _median_bracket(centred: Array) -> tuple[float, float]:
    """Bounds of the median of all squared distances: four standard errors of a sample's median to each side."""
    sample = np.sort(_random_pairs(centred, _BRACKET_PAIRS))
    margin = 2 * int(np.sqrt(_BRACKET_PAIRS))
    return float(sample[_BRACKET_PAIRS // 2 - margin]), float(sample[_BRACKET_PAIRS // 2 + margin])


def _random_pairs(centred: Array, num_pairs: int) -> Array:
    """Squared distances of random pairs of different points, the same ones at every call."""
    rng = np.random.default_rng(0)
    first = rng.integers(len(centred), size=num_pairs)
    second = (first + rng.integers(1, len(centred), size=num_pairs)) % len(centred)
    squares = np.empty(num_pairs)
    for rows in _row_tiles(num_pairs, 100_000):
        squares[rows] = ((centred[first[rows]] - centred[second[rows]]) ** 2).sum(axis=1)
    return squares


def _pairs_in_bracket(centred: Array, low: float, high: float) -> tuple[int, Array]:
    """The number of pairs with squared distances below ``low``, and the squared distances from there to ``high``."""
    num_below, inside = 0, []
    for rows, columns, tile in _TriangleTiles(centred):
        is_below, is_inside = tile < low, (tile >= low) & (tile <= high)
        if rows == columns:
            is_below, is_inside = np.triu(is_below, 1), np.triu(is_inside, 1)
        num_below += int(np.count_nonzero(is_below))
        inside.append(tile[is_inside])
    return num_below, np.concatenate(inside)


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
    for rows, columns, u in _TriangleTiles(x, 1 / bandwidth):
        forces = _KernelProduct(kernel, np.maximum(u, 0.0, out=u))
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


def kernel_sums(x: Array, centres: Array, coefficients: Array, kernel: Kernel, bandwidth: float) -> Array:
    r"""The values of :func:`kernel_expansion` alone."""
    origin = centres.mean(axis=0)
    x, centres = x - origin, centres - origin
    values = np.empty(len(x))
    for rows in _row_tiles(len(x), max(1, _TILE_PAIRS // len(centres))):
        u = _centred_squared_distances(x[rows], centres)
        u /= bandwidth
        values[rows] = kernel.value(u) @ coefficients
    return values


def kernel_expansion_slopes(x: Array, coefficients: Array, kernel: Kernel, bandwidth: float) -> Array:
    r"""Gradients at every :math:`x_i` of a function of its own, :math:`g_i(x) = \sum_j C_{ij} k(x, x_j)`.

    Parameters
    ----------
    x : (n, d) array
    coefficients : (n, n) array
    """
    x = x - x.mean(axis=0)
    columns = (2 / bandwidth) * np.column_stack([x, np.ones(len(x))])
    gradients = np.empty_like(x)
    for rows in _row_tiles(len(x)):
        u = _centred_squared_distances(x[rows], x) / bandwidth
        sums = (coefficients[rows] * kernel.value(u) * kernel.slope_ratio(u)) @ columns
        gradients[rows] = x[rows] * sums[:, -1:] - sums[:, :-1]
    return gradients


def kernel_gradient_scatter(x: Array, centres: Array, kernel: Kernel, bandwidth: float) -> Array:
    r"""The scatter :math:`\sum_j (g_j - \bar g)(g_j - \bar g)^\top` of the gradients :math:`g_j = \nabla_x k(x, y_j)`.

    A few points at a time, with all their gradients: written as sums of outer products, rounding would make it
    indefinite far from the centres.

    Returns
    -------
    (n, d, d) array
    """
    scatter = np.empty((len(x), x.shape[1], x.shape[1]))
    for rows in _row_tiles(len(x), 16):
        offsets = x[rows, None] - centres
        u = np.einsum("nmi,nmi->nm", offsets, offsets) / bandwidth
        offsets *= ((2 / bandwidth) * kernel.value(u) * kernel.slope_ratio(u))[..., None]
        offsets -= offsets.mean(axis=1, keepdims=True)
        scatter[rows] = offsets.transpose(0, 2, 1) @ offsets
    return scatter


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
    left, right = _distance_factors(x - origin, 1 / bandwidth)[0], _distance_factors(y - origin, 1.0)[1]
    total = 0.0
    for rows in _row_tiles(len(x)):
        for columns in _row_tiles(len(y)):
            u = left[rows] @ right[columns].T
            value = kernel.value(np.maximum(u, 0.0, out=u))
            total += float(x_weights[rows] @ value @ y_weights[columns])
    return total


def weighted_kernel_square(x: Array, weights: Array, kernel: Kernel, bandwidth: float) -> float:
    r"""The double sum :math:`\sum_{ij} a_i a_j k(x_i, x_j)`, every pair looked at once."""
    total = 0.0
    for rows, columns, u in _TriangleTiles(x - x.mean(axis=0), 1 / bandwidth):
        value = kernel.value(np.maximum(u, 0.0, out=u))
        total += (1 if rows == columns else 2) * float(weights[rows] @ value @ weights[columns])
    return total


class SteinKernel:
    r"""The matrix :math:`H_{ij} = w_i w_j \kappa(x_i, x_j)` of a Stein kernel, never held as a whole unless asked for.

    With :math:`\delta = x - y`, :math:`a = f'/f` and :math:`b = f''/f` the Stein kernel of a radial one
    (Liu, Lee & Jordan, 2016, Theorem 3.6) is

    .. math:: \kappa(x, y) = f(u) \Big[ s_x^\top s_y + \tfrac{2}{h} a(u) \big((s_y - s_x)^\top \delta - d\big)
              - \tfrac{4}{h} b(u)\, u \Big],

    three Gram products and a few passes over a tile.

    Parameters
    ----------
    x, score : (n, d) arrays
    weights : (n,) array
        The :math:`w`: ones, or the importance weights of the gradient-free discrepancy.
    kernel : Kernel
    bandwidth : float
        The h in :math:`u = \|\delta\|^2 / h`.
    """

    def __init__(self, x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float) -> None:
        x = x - x.mean(axis=0)
        products, ones = np.einsum("id,id->i", x, score), np.ones(len(x))
        self.weights = weights
        self._kernel, self._scale = kernel, 2 / bandwidth
        self._score = score
        self._distance_left, self._distance_right = _distance_factors(x, 1 / bandwidth)
        # (s_y - s_x)ᵀ(x - y) - d as one product
        self._cross_left = np.column_stack([x, score, -products, ones])
        self._cross_right = np.column_stack([score, x, ones, -products - x.shape[1]])

    def __len__(self) -> int:
        return len(self.weights)

    def block(self, rows: slice, columns: slice) -> Array:
        """The entries of H at these rows and columns."""
        block = self._unweighted(rows, columns)
        block *= self.weights[rows, None]
        block *= self.weights[columns]
        return block

    def _unweighted(self, rows: slice, columns: slice) -> Array:
        u = self._distance_left[rows] @ self._distance_right[columns].T
        np.maximum(u, 0.0, out=u)
        block = np.asarray(self._cross_left[rows] @ self._cross_right[columns].T)
        block *= self._scale * self._kernel.slope_ratio(u)
        block += self._score[rows] @ self._score[columns].T
        value = self._kernel.value(u)
        u *= 2 * self._scale * self._kernel.curvature_ratio(u)
        block -= u
        block *= value
        return block

    @property
    def diagonal(self) -> Array:
        r"""The entries :math:`w_i^2 \kappa(x_i, x_i)`."""
        dimension = self._score.shape[1]
        slope = np.broadcast_to(self._kernel.slope_ratio(np.zeros(1)), 1)[0]
        return np.asarray(self.weights**2 * ((self._score**2).sum(axis=1) - self._scale * slope * dimension))

    def column(self, index: int) -> Array:
        """One column of H."""
        return self.block(slice(None), slice(index, index + 1))[:, 0]

    def matrix(self) -> Array:
        """All of H: n × n numbers."""
        return self.block(slice(None), slice(None))

    def quadratic_forms(self, vectors: npt.NDArray[np.float64 | np.int8]) -> Array:
        r"""The forms :math:`v^\top H v` of the columns v of an (n, B) array, in one pass over the tiles."""
        forms = np.zeros(vectors.shape[1])
        tiles = list(_row_tiles(len(self)))
        for number, rows in enumerate(tiles):
            left = self.weights[rows, None] * vectors[rows]
            for columns in tiles[number:]:
                product = self._unweighted(rows, columns) @ (self.weights[columns, None] * vectors[columns])
                forms += (1 if rows == columns else 2) * np.einsum("ib,ib->b", left, product)
        return forms
