r"""Marginal maps fitted to weighted points, by maximum likelihood.

The images u of a coordinate y have the log-density, with :math:`s = \delta \operatorname{asinh} v - \epsilon`,

.. math:: \log q(y) = -\tfrac12 \sinh^2 s + \log\cosh s - \tfrac12 \log(1 + v^2) + \log(\delta / \lambda) + const .

All coordinates are fitted at once, each by steps of the method of scoring with the mean outer product of its gradients
in place of the Fisher information (Berndt et al., 1974), shortened where they do not lead up.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.fitting.em import PSEUDO_POINTS, WeightedPoints
from steinbox.maps.marginal import MarginalMap
from steinbox.numerics.independent_components import Contrast, find_independent_axes

_PSEUDO_POINTS = 4.0  # by which skew and log-tail are shrunk to zero
_MAX_ITERATIONS = 20
_MAX_STEP = 0.7  # of a parameter, in standard deviations of the coordinate, or of its logarithm
_MIN_GAIN = 1e-3  # nats per point, of all coordinates: if a step promises less, there are no more
_DAMPING = (
    0.01,
    4.0,
    8.0,
)  # relative, of the first step; divided by this after a step up, multiplied by that otherwise
_MAX_ANGLE = 30.0  # of sinh: so far out that the density is zero


def fit_marginal_map(sample: WeightedPoints, contrast: Contrast | None = None) -> MarginalMap:
    """The map along the given axes, or along those that are independent by this contrast.

    Tails are as heavy as a Gaussian's, or heavier: what is drawn from a density with lighter ones has uneven weights.
    """
    center = sample.weights @ sample.points
    axes = np.eye(len(center)) if contrast is None else _independent_axes(sample, contrast)
    y = (sample.points - center) @ axes
    spread = np.sqrt(sample.weights @ y**2) + 1e-300
    location, log_scale, skew, log_tail = _maximize(y / spread, sample.weights, sample.effective_sample_size)
    return MarginalMap(axes, center @ axes + spread * location, spread * np.exp(log_scale), skew, np.exp(log_tail))


def _independent_axes(sample: WeightedPoints, contrast: Contrast) -> Array:
    """In columns; what lies along them is white, but for the shrinkage."""
    centered = sample.points - sample.weights @ sample.points
    covariance = (centered * sample.weights[:, None]).T @ centered
    scale = np.sqrt(np.diag(covariance)) + 1e-300
    ridge = PSEUDO_POINTS * len(scale) / sample.effective_sample_size
    correlation = (covariance / np.outer(scale, scale) + ridge * np.eye(len(scale))) / (1 + ridge)
    values, vectors = np.linalg.eigh(correlation)
    whitening = (vectors / np.sqrt(values)) @ vectors.T / scale[:, None]
    return np.asarray(whitening @ find_independent_axes(centered @ whitening, sample.weights, contrast))


def _maximize(y: Array, weights: Array, num_points: float) -> Array:
    """Location, log-scale, skew and log-tail, (4, d), of the coordinates of standardized points."""
    parameters = np.zeros((4, y.shape[1]))
    shrinkage = np.array([[0.0], [0.0], [_PSEUDO_POINTS], [_PSEUDO_POINTS]]) / num_points
    damping = np.full(y.shape[1], _DAMPING[0])
    height, gradient = _log_prob(y, parameters)
    value = weights @ height
    for _ in range(_MAX_ITERATIONS):
        slope = np.stack([weights @ each for each in gradient]) - shrinkage * parameters
        slope[3] = np.where(parameters[3] == 0, np.minimum(slope[3], 0.0), slope[3])
        step = _solve(gradient, weights, slope, shrinkage, damping)
        if 0.5 * float((slope * step).sum()) < _MIN_GAIN:
            break
        tried = parameters + np.clip(step, -_MAX_STEP, _MAX_STEP)
        tried[3] = np.minimum(tried[3], 0.0)
        height, tried_gradient = _log_prob(y, tried)
        tried_value = weights @ height - 0.5 * (shrinkage * tried**2).sum(axis=0)
        is_up = tried_value > value
        parameters, value = np.where(is_up, tried, parameters), np.where(is_up, tried_value, value)
        gradient = np.where(is_up, tried_gradient, gradient)
        damping = np.where(is_up, np.maximum(damping / _DAMPING[1], 1e-4), damping * _DAMPING[2])
    return parameters


def _solve(gradient: Array, weights: Array, slope: Array, shrinkage: Array, damping: Array) -> Array:
    """The step of scoring, (4, d), with every diagonal raised by this share of itself."""
    information = np.empty((slope.shape[1], 4, 4))
    for k in range(4):
        for j in range(k + 1):
            information[:, k, j] = information[:, j, k] = weights @ (gradient[k] * gradient[j])
    diagonal = np.einsum("dkk->dk", information)  # a view
    diagonal += shrinkage.T
    diagonal *= 1 + damping[:, None]
    diagonal += 1e-9
    return np.asarray(np.linalg.solve(information, slope.T[..., None])[..., 0].T)


def _log_prob(y: Array, parameters: Array) -> tuple[Array, Array]:
    """Of every coordinate, (n, d), but for a constant, and its gradient by the parameters, (4, n, d)."""
    location, log_scale, skew, log_tail = parameters
    scale, tail = np.exp(log_scale), np.exp(log_tail)
    v = (y - location) / scale
    angle = np.arcsinh(v)
    s = np.clip(tail * angle - skew, -_MAX_ANGLE, _MAX_ANGLE)
    u, cosh, root = np.sinh(s), np.cosh(s), np.sqrt(1 + v**2)
    height = -0.5 * u**2 + np.log(cosh / root) + log_tail - log_scale
    by_s = u / cosh - u * cosh
    by_v = by_s * tail / root - v / root**2
    return height, np.stack([-by_v / scale, -by_v * v - 1, -by_s, by_s * tail * angle + 1])
