r"""Affine maps with few slopes: a sparse root of the precision matrix, by regression on significant coordinates.

Slopes of d coordinates on those before them that are all fitted to n points cost about :math:`d^2 / 4n` nats, too much
for even weights in a hundred dimensions; those of a chain, two or three times d of them, cost next to nothing.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.densities.fitting.em import PSEUDO_POINTS, WeightedPoints
from steinbox.maps.triangular import TriangularMap


def fit_sparse_map(sample: WeightedPoints) -> TriangularMap:
    r"""The affine map that regresses every coordinate on those before it that are significant.

    These are found in the regression on all before it: their slopes are, in standard errors, above the universal
    threshold :math:`\sqrt{2 \log F}` of all F slopes.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import autoregressive
    >>> points = autoregressive(40, 0.8).sample(400, np.random.default_rng(0))
    >>> sparse = fit_sparse_map(WeightedPoints(points, np.full(400, 1 / 400), 400))
    >>> slopes = sparse.linear[1:]
    >>> int((slopes != 0).sum()), bool((np.diag(slopes, 1) > 0.5).all())
    (39, True)
    """
    center = sample.weights @ sample.points
    scale = np.sqrt(sample.weights @ (sample.points - center) ** 2) + 1e-300
    z = (sample.points - center) / scale
    dimension = z.shape[1]
    moments = (z * sample.weights[:, None]).T @ z
    ridge = PSEUDO_POINTS / sample.effective_sample_size
    moments.flat[:: dimension + 1] += ridge
    is_used = _significant(moments, sample.effective_sample_size)
    linear, log_scales = np.zeros((1 + dimension, dimension)), np.zeros((1 + 2 * dimension, dimension))
    for k in range(dimension):
        used = np.flatnonzero(is_used[:k, k])
        slopes = np.linalg.solve(moments[np.ix_(used, used)], moments[used, k])
        linear[1 + used, k] = slopes
        variance = sample.weights @ (z[:, k] - z[:, used] @ slopes) ** 2
        log_scales[0, k] = 0.5 * np.log(variance + 1e-12)
    none = np.empty((0, 2), dtype=np.int64)
    low, high, levels = z.min(axis=0), z.max(axis=0), log_scales[0]
    products = np.zeros((0, dimension))
    return TriangularMap(
        np.arange(dimension), center, scale, low, high, none, linear, products, log_scales, levels, levels
    )


def _significant(moments: Array, num_points: float) -> Mask:
    """Of the slope of every coordinate, in a column, on those before it, in rows: whether it is clear of zero."""
    dimension = len(moments)
    root = np.linalg.cholesky(moments)
    inverse = np.linalg.inv(root)
    slopes = -(np.diag(root)[:, None] * inverse).T  # above the diagonal
    squares = np.cumsum(inverse**2, axis=0)  # its row k - 1 is the diagonal of the inverse of the first k moments
    variances = np.zeros_like(slopes)
    variances[:, 1:] = squares[:-1].T * np.diag(root)[1:] ** 2
    num_free = np.maximum(num_points - np.arange(dimension), 1.0)
    threshold = np.sqrt(2 * np.log(max(dimension * (dimension - 1) // 2, 2)))
    return np.asarray(np.triu(np.abs(slopes) > threshold * np.sqrt(variances / num_free), 1))
