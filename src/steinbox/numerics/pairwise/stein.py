"""The sums of the Stein direction, and the matrix of a Stein kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise.tiles import Panel, distance_factors, map_triangle, row_tiles


def stein_sums(
    x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0
) -> Array:
    r"""The sums of the Stein direction at every particle,

    .. math:: \phi(x_i) = \sum_j w_j \big[ s_j k(x_j, x_i) + c \nabla_{x_j} k(x_j, x_i) \big].

    With :math:`a = f'/f` and :math:`u_{ij} = \|x_i - x_j\|^2 / h` the second term is
    :math:`\tfrac{2c}{h} a(u_{ij}) k_{ij} (x_j - x_i)`, so that all of it is products of the kernel matrix with d + 1
    columns. A tile serves its rows and, transposed, its columns. The panels of tiles are the same, and are added up in
    the same order, with any number of threads, and so is every digit of the result.

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
    factors = _factors(x, score, weights, kernel, 2 * repulsion / bandwidth)

    def forces(panel: Panel) -> tuple[slice, Array, slice, Array]:
        of_rows = [factor[panel.rows] for factor in factors]
        of_columns = [factor[panel.columns] for factor in factors]
        to_rows = np.zeros_like(of_rows[0])
        to_columns = to_rows if panel.is_diagonal else np.zeros_like(of_columns[0])
        for rows, columns, u, is_diagonal in panel:
            for matrix, from_rows, from_columns in zip(_matrices(kernel, u), of_rows, of_columns, strict=True):
                to_rows[rows] += matrix @ from_columns[columns]
                if not is_diagonal:
                    to_columns[columns] += matrix.T @ from_rows[rows]
        return panel.rows, to_rows, panel.columns, to_columns

    sums = np.zeros_like(factors[0])
    for rows, to_rows, columns, to_columns in map_triangle(forces, x, 1 / bandwidth):
        sums[rows] += to_rows
        if rows != columns:
            sums[columns] += to_columns
    return np.asarray(sums[:, :-1] - x * sums[:, -1:])


def _matrices(kernel: Kernel, u: Array) -> list[Array]:
    """The matrices f(u) and f'(u); only the first if they have a constant ratio."""
    value, ratio = kernel.value(u), kernel.slope_ratio(u)
    return [value, value * ratio] if isinstance(ratio, np.ndarray) else [value]


def _factors(x: Array, score: Array, weights: Array, kernel: Kernel, repulsion: float) -> list[Array]:
    """What these matrices are multiplied by, with a last column for the point where the sum is taken."""
    of_value, of_slope = np.column_stack([score, np.zeros(len(x))]), np.column_stack([x, np.ones(len(x))])
    of_value *= weights[:, None]
    of_slope *= repulsion * weights[:, None]
    ratio = kernel.slope_ratio(np.zeros(1))
    if isinstance(ratio, np.ndarray):
        return [of_value, of_slope]
    of_slope *= ratio
    of_slope += of_value
    return [of_slope]


class SteinKernel:
    r"""The matrix :math:`H_{ij} = w_i w_j \kappa(x_i, x_j)` of a Stein kernel, computed in blocks.

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
        self._distance_left, self._distance_right = distance_factors(x, 1 / bandwidth)
        # (s_y - s_x)ᵀ(x - y) - d as one product
        self._cross_left = np.column_stack([x, score, -products, ones])
        self._cross_right = np.column_stack([score, x, ones, -products - x.shape[1]])

    def __len__(self) -> int:
        return len(self.weights)

    def block(self, rows: slice, columns: slice) -> Array:
        """The entries of H at these rows and columns."""
        block = self._unweighted_block(rows, columns)
        block *= self.weights[rows, None]
        block *= self.weights[columns]
        return block

    def _unweighted_block(self, rows: slice, columns: slice) -> Array:
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
        tiles = list(row_tiles(len(self)))
        for number, rows in enumerate(tiles):
            left = self.weights[rows, None] * vectors[rows]
            for columns in tiles[number:]:
                product = self._unweighted_block(rows, columns) @ (self.weights[columns, None] * vectors[columns])
                forms += (1 if rows == columns else 2) * np.einsum("ib,ib->b", left, product)
        return forms
