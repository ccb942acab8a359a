"""The sums of the Stein direction."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise.tiles import TriangleTiles


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
    for rows, columns, u in TriangleTiles(x, 1 / bandwidth):
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
