r"""Triangular maps along axes of their own.

Of coordinates that a triangular map makes white, some explain others. If these are mixed, :math:`z = A (s, r)` with
:math:`r = q(s) + e` and a quadratic q, no order of the given coordinates will do, but the axes can be found. What is
explained are the directions v of which products of coordinates leave the least unexplained,

.. math:: \min_{\|v\| = 1} \min_B \operatorname{Var}\big(v^\top z - \langle B, z z^\top \rangle\big),

the last eigenvectors of the residuals' covariance. The rest, s, is orthogonal to them only up to chance, :math:`\hat s
= s - E^\top r`. What E is shows in the products of s and r that still explain r,

.. math:: r \approx q(\hat s) + 2 \langle Q \hat s, E^\top r \rangle + e \quad\text{if}\quad q(s) = s^\top Q s,

and is put right by Gauss-Newton steps.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.fitting.em import PSEUDO_POINTS, WeightedPoints
from steinbox.densities.fitting.triangular_map import fit_triangular_map
from steinbox.maps.triangular import RotatedMap

_NUM_CORRECTIONS = 2  # Gauss-Newton steps
_MIN_POINTS_PER_PRODUCT = 2.0  # of two coordinates
_MIN_EIGENVALUE = 1e-12  # of the correlations: smaller ones are rounding
_MAX_UNEXPLAINED = 0.7  # of the variance, along the last axis


def fit_rotated_map(sample: WeightedPoints, *, pseudo_points: float = PSEUDO_POINTS) -> RotatedMap | None:
    """The curved map along axes of its own; None if there are none that products explain, or too few points.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import Banana
    >>> turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> points = Banana().sample(1000, np.random.default_rng(0)) @ turn.T
    >>> rotated = fit_rotated_map(WeightedPoints(points, np.full(1000, 1e-3), 1000))
    >>> u, log_det = rotated.forward_and_log_det(points)  # the banana's widths are 2 and 1/2
    >>> bool(rotated.is_curved), np.allclose(np.cov(u.T), np.eye(2), atol=0.02), bool(abs(log_det.mean()) < 0.02)
    (True, True, True)
    """
    dimension = sample.points.shape[1]
    num_products = dimension * (dimension + 1) // 2
    if dimension == 1 or sample.effective_sample_size < _MIN_POINTS_PER_PRODUCT * num_products:
        return None
    center = sample.weights @ sample.points
    centered = sample.points - center
    covariance = np.cov(centered.T, aweights=sample.weights, ddof=0)
    scales = np.maximum(np.sqrt(np.diag(covariance)), 1e-300)
    if np.linalg.eigvalsh(covariance / np.outer(scales, scales))[0] < _MIN_EIGENVALUE:
        return None
    white = np.linalg.inv(np.linalg.cholesky(covariance)).T
    variances, directions = _unexplained_variances(centered @ white, _products(centered @ white), sample)
    if variances[-1] > _MAX_UNEXPLAINED * (1 - num_products / sample.effective_sample_size):
        return None
    num_explaining = 1 + int(np.argmax(np.log(variances[:-1] / np.maximum(variances[1:], 1e-12))))
    axes = white @ directions
    for _ in range(_NUM_CORRECTIONS):
        axes = _correct_axes(axes, white, centered, num_explaining, sample)
    along_axes = WeightedPoints(centered @ axes, sample.weights, sample.effective_sample_size)
    return RotatedMap(
        center,
        axes,
        fit_triangular_map(along_axes, curved=True, pseudo_points=pseudo_points, order=np.arange(dimension)),
    )


def _correct_axes(axes: Array, white: Array, centered: Array, num_explaining: int, sample: WeightedPoints) -> Array:
    """The axes after a Gauss-Newton step: those of s rotated by E, then those of r found anew given products of s."""
    explaining, explained = axes[:, :num_explaining], axes[:, num_explaining:]
    s, r = centered @ explaining, centered @ explained
    squares = _products(s)
    mixed = (s[:, :, None] * r[:, None, :]).reshape(len(s), -1)
    slopes = _slopes(np.column_stack([s, squares, mixed]), r, sample)
    first, second = np.triu_indices(num_explaining)
    quadratics = np.zeros((r.shape[1], num_explaining, num_explaining))
    quadratics[:, first, second] = slopes[num_explaining : num_explaining + squares.shape[1]].T / 2
    quadratics += quadratics.swapaxes(1, 2)
    crossed = slopes[num_explaining + squares.shape[1] :].reshape(num_explaining, r.shape[1], r.shape[1])
    wanted = crossed.transpose(2, 0, 1).reshape(-1, r.shape[1])
    turn = np.linalg.lstsq(2 * quadratics.reshape(-1, num_explaining), wanted, rcond=None)[0]
    explaining = explaining + explained @ turn.T
    directions = _unexplained_variances(centered @ white, _products(centered @ explaining), sample)[1]
    return np.column_stack([explaining, (white @ directions)[:, num_explaining:]])


def _products(z: Array) -> Array:
    first, second = np.triu_indices(z.shape[1])
    return z[:, first] * z[:, second]


def _slopes(features: Array, values: Array, sample: WeightedPoints) -> Array:
    """Weighted least squares of centered values on features, with a little ridge."""
    centered = features - sample.weights @ features
    scale = np.sqrt(sample.weights @ centered**2) + 1e-12
    centered /= scale
    weighted = (centered * sample.weights[:, None]).T
    moments = weighted @ centered + PSEUDO_POINTS / sample.effective_sample_size * np.eye(len(weighted))
    return np.asarray(np.linalg.solve(moments, weighted @ values) / scale[:, None])


def _unexplained_variances(z: Array, features: Array, sample: WeightedPoints) -> tuple[Array, Array]:
    """Variances of the coordinates that features leave unexplained along directions, the largest first."""
    residuals = z - (features - sample.weights @ features) @ _slopes(features, z, sample)
    variances, directions = np.linalg.eigh((residuals * sample.weights[:, None]).T @ residuals)
    return variances[::-1], directions[:, ::-1]
