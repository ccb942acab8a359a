r"""The log-domain interpolant: kernel interpolation of log p instead of p."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from steinbox.coordinates import Affine, Whitened
from steinbox.kernels import RBF, Kernel
from steinbox.pairwise import kernel_expansion, squared_distances
from steinbox.types import Array


@dataclass(frozen=True)
class Interpolant:
    r"""Builds a Gaussian-process interpolant of the log-target,

    .. math:: \log\rho(x) = a + b^\top z + c \|z\|^2 + \sum_j \beta_j k(z_j, z),

    in coordinates z whitened by the current particles. It passes through the values, so that the weights
    :math:`\rho / p` are one at every particle: no weight degenerates, and the score is as good as the interpolation.
    It is within the paper's framework, which allows any :math:`\rho` with a value and a gradient.

    The length-scale is the most likely one of a few (profile marginal likelihood); the mean's coefficients are those of
    generalised least squares with a tiny ridge, so that d may exceed the number of points.

    Points outside the support (−inf) are taught to the interpolant as a wall: they get a value ``wall`` below the lowest
    finite one, which makes the score near them point inwards.

    Parameters
    ----------
    num_history : int
        Past iterations whose particles are used too. They matter: with the current particles alone the interpolant is
        blind on all sides, and the particles run away.
    length_scales : tuple of float
        Candidates for :math:`\ell^2 / d` in :math:`k = \exp(-\|z - z'\|^2 / 2\ell^2)`.
    nugget : float
        Added to the diagonal, relative to the kernel's variance.
    max_points : int
        Above this many points the oldest are left out: the solve is cubic in their number.
    wall : float
        How far below the lowest finite value a point outside the support is placed, in nats.
    """

    num_history: int = 3
    length_scales: tuple[float, ...] = (1.0, 4.0, 16.0)
    nugget: float = 1e-6
    max_points: int = 1500
    wall: float = 5.0
    kernel: Kernel = field(default_factory=RBF)

    def build(self, points: Array, log_target: Array, num_current: int) -> InterpolantSurrogate:
        coordinates = Whitened().fit(points[:num_current])
        points, log_target = points[: self.max_points], log_target[: self.max_points]
        values = _with_wall(log_target, self.wall)
        z = coordinates.forward(points)
        distances = squared_distances(z, z)
        fits = [self._fit(z, values, distances, 2 * scale * z.shape[1]) for scale in self.length_scales]
        best = max(fits, key=lambda fit: fit.log_likelihood)
        return InterpolantSurrogate(coordinates, z, best.coefficients, best.trend, self.kernel, best.bandwidth)

    def _fit(self, z: Array, values: Array, distances: Array, bandwidth: float) -> _Fit:
        gram = self.kernel.value(distances / bandwidth)
        factor = _factorize(gram, self.nugget)
        features = _trend_features(z)
        whitened_features = solve_triangular(factor, features, lower=True, check_finite=False)
        whitened_values = solve_triangular(factor, values, lower=True, check_finite=False)
        trend = _ridge(whitened_features, whitened_values)
        residual = values - features @ trend
        coefficients = cho_solve((factor, True), residual, check_finite=False)
        variance = max(float(residual @ coefficients) / len(z), 1e-300)
        log_likelihood = -0.5 * len(z) * np.log(variance) - float(np.log(np.diag(factor)).sum())
        return _Fit(log_likelihood, coefficients, trend, bandwidth)


@dataclass(frozen=True, eq=False)
class InterpolantSurrogate:
    """The interpolant for one set of points; see :class:`Interpolant`."""

    coordinates: Affine
    centres: Array
    coefficients: Array
    trend: Array
    kernel: Kernel
    bandwidth: float

    def log_prob(self, x: Array) -> Array:
        z = self.coordinates.forward(x)
        return np.asarray(self._expansion(z)[0] + _trend_features(z) @ self.trend)

    def score(self, x: Array) -> Array:
        z = self.coordinates.forward(x)
        slope = self._expansion(z)[1] + self.trend[1:-1] + 2 * self.trend[-1] * z
        return self.coordinates.score_back(slope)

    def _expansion(self, z: Array) -> tuple[Array, Array]:
        return kernel_expansion(z, self.centres, self.coefficients, self.kernel, self.bandwidth)


@dataclass(frozen=True, eq=False)
class _Fit:
    log_likelihood: float
    coefficients: Array
    trend: Array
    bandwidth: float


def _trend_features(z: Array) -> Array:
    """The columns 1, z and ‖z‖² of the mean."""
    return np.column_stack([np.ones(len(z)), z, (z**2).sum(axis=1)])


def _with_wall(log_target: Array, wall: float) -> Array:
    inside = np.isfinite(log_target)
    return np.where(inside, log_target, log_target[inside].min() - wall)


def _factorize(gram: Array, nugget: float) -> Array:
    """Lower Cholesky factor of the Gram matrix with a nugget, raised until it exists."""
    while True:
        try:
            return np.asarray(cholesky(gram + nugget * np.eye(len(gram)), lower=True, check_finite=False))
        except LinAlgError:
            nugget *= 10


def _ridge(features: Array, values: Array, ridge: float = 1e-8) -> Array:
    gram = features.T @ features
    gram[np.diag_indices_from(gram)] += ridge * np.trace(gram) / len(gram)
    return np.asarray(np.linalg.solve(gram, features.T @ values))
