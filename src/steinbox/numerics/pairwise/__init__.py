r"""The only :math:`O(n^2)` code of the package: sums over pairs of points, tiled.

Squared distances come from one Gram product of centered points; the sums are thin matrix products with the kernel
matrix. No array here is larger than ``MAX_TILE_ROWS × n``, none is n × n × d. Sums over all pairs of particles run in
as many threads as BLAS would start (:mod:`steinbox.numerics.pairwise.threads`), with the same result to the last digit.
"""

from steinbox.numerics.pairwise.distances import median_squared_distance, squared_distances
from steinbox.numerics.pairwise.matrix_stein import MatrixSteinKernel, matrix_stein_sums
from steinbox.numerics.pairwise.stein import SteinKernel, stein_sums
from steinbox.numerics.pairwise.sums import (
    kernel_expansion,
    kernel_expansion_slopes,
    kernel_gradient_scatter,
    kernel_sums,
    log_kernel_expansion,
    weighted_kernel_mean,
    weighted_kernel_square,
)

__all__ = [
    "MatrixSteinKernel",
    "SteinKernel",
    "kernel_expansion",
    "kernel_expansion_slopes",
    "kernel_gradient_scatter",
    "kernel_sums",
    "log_kernel_expansion",
    "matrix_stein_sums",
    "median_squared_distance",
    "squared_distances",
    "stein_sums",
    "weighted_kernel_mean",
    "weighted_kernel_square",
]
