"""Maximum mean discrepancy between two samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.diagnostics.inputs import as_points, as_weights
from steinbox.diagnostics.statistic import Statistic, require_statistic, signed_root, u_statistic
from steinbox.diagnostics.stein_sample import KERNEL
from steinbox.numerics.bandwidth import Fixed, Rule, as_rule
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise import weighted_kernel_mean, weighted_kernel_square


def mmd(
    points: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    bandwidth: float | str | Rule = "median",
    kernel: Kernel = KERNEL,
    statistic: Statistic = "v",
) -> float:
    r"""Maximum mean discrepancy (Gretton et al., 2012) between points x and a reference sample y,

    .. math:: \mathrm{MMD}^2 = \sum_{ij} a_i a_j k(x_i, x_j) - 2 \sum_{ij} a_i b_j k(x_i, y_j)
              + \sum_{ij} b_i b_j k(y_i, y_j).

    Returns its square root. The bandwidth comes from the reference alone, so that all methods compared with one
    reference are compared with one kernel.

    Parameters
    ----------
    points : (n, d) array_like
    reference : (m, d) array_like
        Usually exact draws.
    weights : (n,) array_like, optional
        Weights of the points, normalized here; equal if not given.
    bandwidth : float, str or function
        Applied to the reference; see :mod:`steinbox.numerics.bandwidth`.
    kernel : Kernel
        ``kernels.RBF()`` or ``kernels.IMQ()``.
    statistic : {"v", "u"}
        The V-statistic has all pairs. The U-statistic leaves out those of a point with itself: it is unbiased, and its
        square may be negative; the root then carries the sign.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> points, reference = rng.standard_normal((2, 1000, 2))
    >>> mmd(points, reference) < 0.1 < mmd(points + 1, reference)
    True
    """
    x, y = as_points("points", points), as_points("reference", reference)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"expected points and reference of the same dimension, got {x.shape[1]} and {y.shape[1]}")
    require_statistic(statistic)
    a, b = as_weights(weights, len(x)), np.full(len(y), 1 / len(y))
    h = Fixed(as_rule(bandwidth)(y)).bandwidth
    within_x = weighted_kernel_square(x, a, kernel, h)
    within_y = weighted_kernel_square(y, b, kernel, h)
    if statistic == "u":
        within_x, within_y = u_statistic(within_x, float(a @ a), a), u_statistic(within_y, float(b @ b), b)
    square = within_x + within_y - 2 * weighted_kernel_mean(x, a, y, b, kernel, h)
    return signed_root(square, statistic)
