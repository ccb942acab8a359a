"""The sums of the Stein direction, and the matrix of a Stein kernel, under matrix-valued weights."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise.distances import centered_squared_distances
from steinbox.numerics.pairwise.stein import SteinKernel
from steinbox.numerics.pairwise.tiles import row_tiles

_MAX_TILE_NUMBERS = 2_000_000  # of the (rows, n, d) arrays that a block takes


def matrix_stein_sums(
    x: Array, drift: Array, matrices: Array, weights: Array, kernel: Kernel, bandwidth: float
) -> Array:
    r"""The sums of the Stein direction with a matrix :math:`M_j` at every particle,

    .. math:: \phi(x_i) = M_i \sum_j w_j \big[ u_j k(x_j, x_i) + M_j \nabla_{x_j} k(x_j, x_i) \big].

    Parameters
    ----------
    x, drift : (n, d) arrays
        Particles, and the :math:`u = M s + \nabla\cdot M` at them.
    matrices : (n, d, d) array
        Symmetric.
    weights : (n,) array
    kernel : Kernel
    bandwidth : float
    """
    x = x - x.mean(axis=0)
    num_points, dimension = x.shape
    driving = weights[:, None] * drift
    scaled = (2 / bandwidth) * weights[:, None, None] * matrices
    repelling = np.column_stack([np.einsum("nab,nb->na", scaled, x), scaled.reshape(num_points, -1)])
    sums = np.empty_like(x)
    for rows in row_tiles(num_points):
        u = np.maximum(centered_squared_distances(x[rows], x) / bandwidth, 0.0)
        value, ratio = kernel.value(u), kernel.slope_ratio(u)
        products = (value * ratio) @ repelling
        metric = products[:, dimension:].reshape(-1, dimension, dimension)
        sums[rows] = value @ driving + products[:, :dimension] - np.einsum("nab,nb->na", metric, x[rows])
    return np.asarray(np.einsum("nab,nb->na", matrices, sums))


class MatrixSteinKernel(SteinKernel):
    r"""The matrix :math:`H_{ij} = w_i w_j \kappa(x_i, x_j)` of the Stein kernel under matrix-valued weights.

    With :math:`\delta = x - y`, :math:`a = f'/f`, :math:`b = f''/f` and the symmetric matrices :math:`M`,

    .. math:: \kappa(x, y) = f \Big[ u_x^\top u_y + \tfrac{2}{h} a \big( \delta^\top M_x u_y - \delta^\top M_y u_x
              - \mathrm{tr}(M_x M_y) \big) - \tfrac{4}{h^2} b\, (M_x\delta)^\top (M_y\delta) \Big].

    Parameters
    ----------
    x, drift : (n, d) arrays
        Points, and the :math:`u = M s + \nabla\cdot M` at them.
    matrices : (n, d, d) array
        Symmetric.
    weights : (n,) array
    kernel : Kernel
    bandwidth : float
    """

    def __init__(
        self, x: Array, drift: Array, matrices: Array, weights: Array, kernel: Kernel, bandwidth: float
    ) -> None:
        super().__init__(x, drift, weights, kernel, bandwidth)
        self._points, self._matrices = x - x.mean(axis=0), matrices

    def _unweighted_block(self, rows: slice, columns: slice) -> Array:
        height = max(1, _MAX_TILE_NUMBERS // self._score.size)
        starts = range(*rows.indices(len(self)))
        parts = [self._part(np.array(starts[k : k + height]), columns) for k in range(0, len(starts), height)]
        return np.concatenate(parts)

    def _part(self, rows: IntegerArray, columns: slice) -> Array:
        x, drift, matrices = self._points, self._score, self._matrices
        offsets = x[rows, None] - x[columns]
        u = np.einsum("xyd,xyd->xy", offsets, offsets) * (self._scale / 2)
        of_rows = np.einsum("xab,xyb->xya", matrices[rows], offsets)
        of_columns = np.einsum("yab,xyb->xya", matrices[columns], offsets)
        cross = np.einsum("xya,ya->xy", of_rows, drift[columns]) - np.einsum("xya,xa->xy", of_columns, drift[rows])
        cross -= matrices[rows].reshape(len(rows), -1) @ matrices[columns].reshape(cross.shape[1], -1).T
        block = drift[rows] @ drift[columns].T + self._scale * self._kernel.slope_ratio(u) * cross
        curvature = self._kernel.curvature_ratio(u) * np.einsum("xya,xya->xy", of_rows, of_columns)
        return np.asarray(self._kernel.value(u) * (block - self._scale**2 * curvature))

    @property
    def diagonal(self) -> Array:
        r"""The entries :math:`w_i^2 \kappa(x_i, x_i)`."""
        slope = np.broadcast_to(self._kernel.slope_ratio(np.zeros(1)), 1)[0]
        traces = np.einsum("nab,nab->n", self._matrices, self._matrices)
        return np.asarray(self.weights**2 * ((self._score**2).sum(axis=1) - self._scale * slope * traces))
