r"""Quadratics with few products of coordinates, fitted to fewer values than a full one has coefficients.

A quadratic in d coordinates has about :math:`d^2 / 2` products. Where most of them are absent, as in chains, fields and
hierarchies, those that are there can be told from far fewer values: by stagewise orthogonal matching pursuit (Donoho,
Tsaig, Drori & Starck, 2012). It begins with the constant, the coordinates and their squares; adds all products whose
covariance with the residual is significant; fits all of them anew; and so on.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array

_MAX_STAGES = 10
_MAX_FEATURES = 1 / 2  # per point: with more, a fit follows chance
_DUAL_RIDGE = 0.01
_RIDGE = 1e-6  # of all but the constant, in standardized coordinates


def fit_sparse_quadratic(z: Array, values: Array, weights: Array) -> tuple[Array, Array] | None:
    r"""Slope at the origin and negative curvature, by weighted least squares; None if there are too few points.

    A product enters if its covariance with the residual, in standard errors, is above the universal threshold
    :math:`\sqrt{2 \log F}` of all F products, so that pure noise seldom passes.

    Parameters
    ----------
    z : (n, d) array
        Points, standardized coordinate by coordinate.
    values, weights : (n,) array
        Weights sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).normal(size=(400, 40))  # a full quadratic has 861 coefficients
    >>> values = -0.5 * (z[:, 0] ** 2 + ((z[:, 1:] - 0.9 * z[:, :-1]) ** 2).sum(axis=1)) + z[:, 5]
    >>> slope, curvature = fit_sparse_quadratic(z, values, np.full(400, 1 / 400))
    >>> slope[4:7].round(2) + 0, curvature[4:7, 4:7].round(2) + 0
    (array([0., 1., 0.]), array([[ 1.81, -0.9 ,  0.  ],
           [-0.9 ,  1.81, -0.9 ],
           [ 0.  , -0.9 ,  1.81]]))
    """
    num_points, dimension = z.shape
    first, second = np.triu_indices(dimension, 1)
    threshold = np.sqrt(2 * np.log(max(len(first), 2)))
    most = int(_MAX_FEATURES * num_points) - 2 * dimension - 1
    if most < 0:
        return None
    features = np.column_stack([np.ones(num_points), z, z**2])
    found = np.empty(0, dtype=np.int64)
    coefficients = _least_squares(features, values, weights)
    dual = np.linalg.solve((z * weights[:, None]).T @ z + _DUAL_RIDGE * np.eye(dimension), z.T).T
    for _ in range(_MAX_STAGES):
        signal = _signals(dual, values - features @ coefficients, weights)[first, second]
        signal[found] = 0.0
        new = np.flatnonzero(signal > threshold)
        new = new[np.argsort(-signal[new], kind="stable")[: max(most - len(found), 0)]]
        if len(new) == 0:
            break
        found = np.concatenate([found, new])
        features = np.column_stack([features, z[:, first[new]] * z[:, second[new]]])
        coefficients = _least_squares(features, values, weights)
    curvature = np.diag(-2 * coefficients[1 + dimension : 1 + 2 * dimension])
    curvature[first[found], second[found]] = curvature[second[found], first[found]] = -coefficients[1 + 2 * dimension :]
    return coefficients[1 : 1 + dimension], curvature


def _least_squares(features: Array, values: Array, weights: Array) -> Array:
    """Coefficients; the first feature is the constant."""
    weighted = (features * weights[:, None]).T
    moments = weighted @ features
    moments.flat[:: len(moments) + 1] += _RIDGE * np.diag(moments)
    return np.asarray(np.linalg.solve(moments, weighted @ values))


def _signals(z: Array, residual: Array, weights: Array) -> Array:
    """Covariances of all products with the residual, in standard errors that hold if both are uneven, (d, d)."""
    scaled = weights * residual
    return np.asarray(np.abs((z * scaled[:, None]).T @ z) / np.sqrt((z**2 * scaled[:, None] ** 2).T @ z**2 + 1e-300))
