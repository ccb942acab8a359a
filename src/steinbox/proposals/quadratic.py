r"""A Gaussian from a quadratic fitted to log-densities: a jump to where the mass must be."""

from __future__ import annotations

import numpy as np

from steinbox.gaussian import Gaussian
from steinbox.types import Array, IntegerArray
from steinbox.weights import normalize, temper

_MOST_POINTS = 4000
_WIDER = 1.15


def quadratic_proposal(points: Array, log_prob: Array, log_weights: Array) -> Gaussian | None:
    r"""The Gaussian whose log-density is a weighted ridge regression of ``log_prob`` on a full quadratic.

    It uses all values, not only those of heavy points, so that it finds the way from far away. Curvatures are kept
    between 0.3 and :math:`10^4` in units of the weighted points' covariance, and the mean moves by at most
    :math:`2 \sqrt d` standard deviations. None if there are too few points to tell the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> log_prob = -0.5 * ((points - 2.0) ** 2).sum(axis=1) / 0.25  # a target that hardly any point comes near
    >>> gaussian = quadratic_proposal(points, log_prob, log_prob)
    >>> gaussian.mean.round(1)
    array([2., 2.])
    """
    num_points, dimension = points.shape
    num_features = 1 + dimension + dimension * (dimension + 1) // 2
    known = np.isfinite(log_prob)
    if known.sum() < 1.3 * num_features:
        return None
    log_weights = np.where(known, log_weights, -np.inf)
    wanted = min(max(1.5 * num_features, 0.3 * num_points), 0.8 * known.sum())
    weights = normalize(temper(log_weights, wanted) * np.where(known, log_weights, -np.inf))
    used = _heaviest(weights)
    mean = weights @ points
    centred = points - mean
    covariance = (centred * weights[:, None]).T @ centred
    root = np.linalg.cholesky(covariance + np.diag(0.1 * np.diag(covariance) + 1e-300))
    z = np.linalg.solve(root, centred[used].T).T
    slope, curvature = _regression(z, log_prob[used], weights[used] / weights[used].sum())
    values, vectors = np.linalg.eigh(curvature)
    values = np.clip(values, 0.3, 1e4)
    jump = vectors @ ((vectors.T @ slope) / values)
    jump *= min(1.0, 2 * np.sqrt(dimension) / max(float(np.linalg.norm(jump)), 1e-300))
    spread = root @ (vectors / np.sqrt(values))
    return Gaussian(mean + root @ jump, cov=_WIDER * spread @ spread.T)


def _heaviest(weights: Array) -> IntegerArray:
    used = np.flatnonzero(weights > 1e-3 / len(weights))
    return np.asarray(used[np.argsort(-weights[used], kind="stable")[:_MOST_POINTS]])


def _regression(z: Array, log_prob: Array, weights: Array) -> tuple[Array, Array]:
    """Slope at the origin and negative curvature of the quadratic."""
    dimension = z.shape[1]
    rows, columns = np.triu_indices(dimension)
    features = np.column_stack([np.ones(len(z)), z, z[:, rows] * z[:, columns]])
    ridge = np.repeat([1e-8, 1e-4, 1e-3], [1, dimension, len(rows)])
    rooted = features * np.sqrt(weights)[:, None]
    moments = rooted.T @ rooted
    values = weights * (log_prob - weights @ log_prob)
    coefficients = np.asarray(np.linalg.solve(moments + np.diag(ridge), features.T @ values), dtype=np.float64)
    half = np.zeros((dimension, dimension))
    half[rows, columns] = coefficients[1 + dimension :]
    return coefficients[1 : 1 + dimension], -(half + half.T)
