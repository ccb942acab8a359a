r"""Weights of given points that integrate like draws of a distribution: kernel quadrature with positive weights."""

from __future__ import annotations

import numpy as np
import scipy

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import kernel_sums, median_squared_distance, squared_distances
from steinbox.numerics.pairwise.distances import positive_std

_WHITENING_RIDGE = 1e-8  # added to the correlation matrix of the draws
_RIDGE = 1e-3  # λ: keeps the weight from resting on few of many points that are close to each other


def quadrature_weights(points: Array, draws: Array) -> Array:
    r"""Weights (n,) of the points, not negative, that sum to one and represent the draws (m, d).

    Up to their sum they minimize the squared maximum mean discrepancy and a little of their unevenness,

    .. math:: w^\top (K + \lambda I)\, w - 2\, w^\top \mu, \qquad w \ge 0, \quad
              \mu_i = \tfrac1m \sum_j k(x_i, y_j) ,

    with a Gaussian kernel of median bandwidth in coordinates whitened by the draws (Bayesian quadrature, but for
    the sign; Huszár & Duvenaud, 2012).

    References
    ----------
    F. Huszár & D. Duvenaud (2012). Optimally-weighted herding is Bayesian quadrature. *UAI*.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> points, draws = rng.uniform(-3, 3, size=(60, 1)), rng.standard_normal((2000, 1))
    >>> weights = quadrature_weights(points, draws)
    >>> bool(abs(weights @ points[:, 0]) < 0.1 and abs(weights @ points[:, 0] ** 2 - 1) < 0.1)
    True
    """
    center, scale = draws.mean(axis=0), positive_std(draws)
    x, y = (points - center) / scale, (draws - center) / scale
    whitening = np.linalg.cholesky(np.cov(y.T).reshape(x.shape[1], -1) + _WHITENING_RIDGE * np.eye(x.shape[1]))
    x, y = (scipy.linalg.solve_triangular(whitening, each.T, lower=True).T for each in (x, y))
    bandwidth = median_squared_distance(y) or 1.0
    mean = kernel_sums(x, y, np.full(len(y), 1 / len(y)), RBF(), bandwidth)
    gram = RBF().value(squared_distances(x, x) / bandwidth) + _RIDGE * np.eye(len(x))
    root = np.linalg.cholesky(gram)
    weights = scipy.optimize.nnls(root.T, scipy.linalg.solve_triangular(root, mean, lower=True))[0]
    if not weights.sum() > 0:  # no point is near any draw: to the nearest, then
        weights = np.bincount(squared_distances(y, x).argmin(axis=1), minlength=len(x)).astype(float)
    return np.asarray(weights / weights.sum())
