r"""Quadratics with few products of coordinates, fitted to fewer values than a full one has coefficients.

A quadratic in d coordinates has about :math:`d^2 / 2` products. Where most of them are absent, as in chains, fields and
hierarchies, those that are there can be told from far fewer values: by stagewise orthogonal matching pursuit (Donoho,
Tsaig, Drori & Starck, 2012). It begins with the constant, the coordinates and their squares; adds all products whose
covariance with the residual is significant; fits all of them anew; and so on.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray

_MAX_STAGES = 10
_MAX_FEATURES = 1 / 3  # per point: with more, a fit follows chance
_RIDGE = 1e-6  # of the features, standardized
_DUAL_RIDGE = 0.01  # of the covariance of the points, standardized


def fit_sparse_quadratic(
    z: Array, values: Array, weights: Array, pairs: IntegerArray | None = None
) -> tuple[Array, Array] | None:
    r"""Slope at the origin and negative curvature, by weighted least squares; None if there are too few points.

    A product enters if its signal, in standard errors, is above the universal threshold :math:`\sqrt{2 \log F}` of all
    F products, so that pure noise seldom passes; at the end those that are below are left out again. There are two
    signals: the covariance of product and residual r, and Stein's estimate of what is left of the curvature,

    .. math:: E[\nabla^2 r] = E[r(z)\, u u^\top], \qquad u = \operatorname{Cov}(z)^{-1} z,

    for Gaussian z: the first is clearer if coordinates are not correlated, the second is not misled if they are.

    Parameters
    ----------
    z : (n, d) array
        Points, standardized coordinate by coordinate.
    values, weights : (n,) array
        Weights sum to one.
    pairs : (m, 2) array, optional
        Products to begin with: those of an earlier fit.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).normal(size=(600, 40))  # a full quadratic has 861 coefficients
    >>> values = -0.5 * (z[:, 0] ** 2 + ((z[:, 1:] - 0.9 * z[:, :-1]) ** 2).sum(axis=1)) + z[:, 5]
    >>> slope, curvature = fit_sparse_quadratic(z, values, np.full(600, 1 / 600))
    >>> slope[4:7].round(2) + 0
    array([0., 1., 0.])
    >>> curvature[4:7, 4:7].round(2) + 0
    array([[ 1.81, -0.9 ,  0.  ],
           [-0.9 ,  1.81, -0.9 ],
           [ 0.  , -0.9 ,  1.81]])
    """
    num_points, dimension = z.shape
    first, second = np.triu_indices(dimension, 1)
    threshold = np.sqrt(2 * np.log(max(len(first), 2)))
    most = int(_MAX_FEATURES * num_points) - 2 * dimension - 1
    if most < 0:
        return None
    plain = np.column_stack([np.ones(num_points), z, z**2])
    covariance = (z * weights[:, None]).T @ z + _DUAL_RIDGE * np.eye(dimension)
    dual: Array = np.asarray(np.linalg.solve(covariance, z.T).T, dtype=np.float64)
    found = np.empty(0, dtype=np.int64)
    if pairs is not None and len(pairs) <= most:
        found = np.flatnonzero(np.isin(first * dimension + second, pairs[:, 0] * dimension + pairs[:, 1]))
    for _ in range(_MAX_STAGES):
        features = np.column_stack([plain, z[:, first[found]] * z[:, second[found]]])
        residual = values - features @ _least_squares(features, values, weights)[0]
        signal = np.maximum(_signals(z, residual, weights), _signals(dual, residual, weights))[first, second]
        signal[found] = 0.0
        new = np.flatnonzero(signal > threshold)
        new = new[np.argsort(-signal[new], kind="stable")[: most - len(found)]]
        if len(new) == 0:
            break
        found = np.concatenate([found, new])
    features = np.column_stack([plain, z[:, first[found]] * z[:, second[found]]])
    _, signals = _least_squares(features, values, weights)
    found = found[signals[1 + 2 * dimension :] > threshold]
    features = np.column_stack([plain, z[:, first[found]] * z[:, second[found]]])
    coefficients, _ = _least_squares(features, values, weights)
    curvature = np.diag(-2 * coefficients[1 + dimension : 1 + 2 * dimension])
    curvature[first[found], second[found]] = curvature[second[found], first[found]] = -coefficients[1 + 2 * dimension :]
    return coefficients[1 : 1 + dimension], curvature


def _least_squares(features: Array, values: Array, weights: Array) -> tuple[Array, Array]:
    """Coefficients, and how many standard errors they are from zero."""
    weighted = (features * weights[:, None]).T
    moments = weighted @ features
    scale = np.sqrt(np.diag(moments)) + 1e-300
    inverse = np.linalg.inv(moments / np.outer(scale, scale) + _RIDGE * np.eye(len(scale)))
    scaled = inverse @ (weighted @ values / scale)
    variance = weights @ (values - features @ (scaled / scale)) ** 2
    num_points = 1 / (weights @ weights)
    num_free = max(float(num_points) - len(scale), 1.0)
    return scaled / scale, np.abs(scaled) / (np.sqrt(variance * np.diag(inverse) / num_free) + 1e-300)


def _signals(z: Array, residual: Array, weights: Array) -> Array:
    """Covariances of all products with the residual, in standard errors that hold if both are uneven, (d, d)."""
    scaled = (weights * residual)[:, None]
    return np.asarray(np.abs((z * scaled).T @ z) / np.sqrt((z**2 * scaled**2).T @ z**2 + 1e-300))
