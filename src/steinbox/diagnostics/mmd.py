"""Maximum mean discrepancy between two samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.diagnostics.inputs import (
    Statistic,
    as_points,
    as_weights,
    require_statistic,
    signed_root,
    without_diagonal,
)
from steinbox.diagnostics.stein_sample import KERNEL
from steinbox.numerics.bandwidth import Fixed, Rule, as_rule
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise import weighted_kernel_mean, weighted_kernel_square


def mmd(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    bandwidth: float | str | Rule = "median",
    kernel: Kernel = KERNEL,
    statistic: Statistic = "v",
) -> float:
    r"""Maximum mean discrepancy (Gretton et al., 2012) between particles x and a reference sample y,

    .. math:: \mathrm{MMD}^2 = \sum_{ij} a_i a_j k(x_i, x_j) - 2 \sum_{ij} a_i b_j k(x_i, y_j)
              + \sum_{ij} b_i b_j k(y_i, y_j).

    Returns its square root. The bandwidth comes from ``y`` alone, so that all methods compared with one reference are
    compared with one kernel.

    Parameters
    ----------
    x : (n, d) array_like
    y : (m, d) array_like
        The reference, usually exact draws.
    weights : (n,) array_like, optional
        Weights on ``x``, normalised here.
    bandwidth : float, str or function
        Applied to ``y``; see :mod:`steinbox.numerics.bandwidth`.
    statistic : {"v", "u"}
        The V-statistic has all pairs. The U-statistic leaves out those of a point with itself: it is unbiased, and its
        square may be negative; the root then carries the sign.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.standard_normal((1000, 2))
    >>> mmd(rng.standard_normal((1000, 2)), y) < 0.1 < mmd(rng.standard_normal((1000, 2)) + 1, y)
    True
    """
    x, y = as_points("x", x), as_points("y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"expected x and y of the same dimension, got {x.shape[1]} and {y.shape[1]}")
    require_statistic(statistic)
    a, b = as_weights(weights, len(x)), np.full(len(y), 1 / len(y))
    h = Fixed(as_rule(bandwidth)(y)).bandwidth
    within_x = weighted_kernel_square(x, a, kernel, h)
    within_y = weighted_kernel_square(y, b, kernel, h)
    if statistic == "u":
        within_x, within_y = without_diagonal(within_x, float(a @ a), a), without_diagonal(within_y, float(b @ b), b)
    square = within_x + within_y - 2 * weighted_kernel_mean(x, a, y, b, kernel, h)
    return signed_root(square, statistic)
