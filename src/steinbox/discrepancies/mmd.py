"""Maximum mean discrepancy between two samples."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from steinbox.bandwidth import Rule, as_rule
from steinbox.kernels import RBF, Kernel
from steinbox.pairwise import weighted_kernel_mean
from steinbox.types import Array


def mmd(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    bandwidth: float | str | Rule = "median",
    kernel: Kernel | None = None,
    statistic: Literal["v", "u"] = "v",
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
        Applied to ``y``; see :mod:`steinbox.bandwidth`.
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
    x, y = _checked("x", x), _checked("y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"expected x and y of the same dimension, got {x.shape[1]} and {y.shape[1]}")
    if statistic not in ("v", "u"):
        raise ValueError(f"expected statistic 'v' or 'u', got {statistic!r}")
    a, b = _checked_weights(weights, len(x)), np.full(len(y), 1 / len(y))
    kernel = RBF() if kernel is None else kernel
    h = as_rule(bandwidth)(y)
    within_x = weighted_kernel_mean(x, a, x, a, kernel, h)
    within_y = weighted_kernel_mean(y, b, y, b, kernel, h)
    if statistic == "u":
        within_x, within_y = _without_diagonal(within_x, a), _without_diagonal(within_y, b)
    square = within_x + within_y - 2 * weighted_kernel_mean(x, a, y, b, kernel, h)
    if statistic == "v":
        return float(np.sqrt(max(square, 0.0)))
    return float(np.sign(square) * np.sqrt(abs(square)))


def _without_diagonal(double_sum: float, weights: Array) -> float:
    """Leave out the pairs of a point with itself, where k = 1, and divide by the weight that remains."""
    diagonal = float(weights @ weights)
    return (double_sum - diagonal) / (1 - diagonal)


def _checked(name: str, points: npt.ArrayLike) -> Array:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or len(array) < 2:
        raise ValueError(f"expected {name} of shape (n, d) with at least two rows, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"expected finite points in {name}")
    return array


def _checked_weights(weights: npt.ArrayLike | None, num_points: int) -> Array:
    if weights is None:
        return np.full(num_points, 1 / num_points)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (num_points,) or not np.all(array >= 0) or not 0 < array.sum() < np.inf:
        raise ValueError(f"expected {num_points} weights that are at least 0 and not all 0, got shape {array.shape}")
    return np.asarray(array / array.sum())
