r"""The log-domain interpolant: kernel interpolation of log p instead of p."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from steinbox.common.arrays import Array
from steinbox.maps.coordinates import Affine, Whitened
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.pairwise import kernel_expansion, squared_distances

_RIDGE = 1e-8


@dataclass(frozen=True)
class Interpolant:
    r"""Builds a Gaussian-process interpolant of the log-target,

    .. math:: \log\rho(x) = a + b^\top z + c \|z\|^2 + \sum_j \beta_j k(z_j, z),

    in coordinates z whitened by the current particles. It passes through the values, so that the weights
    :math:`\rho / p` are one at every particle: no weight degenerates, and the score is as good as the interpolation.
    It is within the paper's framework, which allows any :math:`\rho` with a value and a gradient.

    The length-scale is the most likely one of a few (profile marginal likelihood); the mean's coefficients are those of
    generalised least squares with a tiny ridge, so that d may exceed the number of points.

    Points outside the support (−inf) are taught to the interpolant as a wall: they get a value ``wall`` below the
    lowest finite one, which makes the score near them point inwards.

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
    num_selection_points : int
        How many of them choose the length-scale.
    wall : float
        How far below the lowest finite value a point outside the support is placed, in nats.
    """

    num_history: int = 5
    length_scales: tuple[float, ...] = (1.0, 4.0, 16.0)
    nugget: float = 1e-6
    max_points: int = 1500
    num_selection_points: int = 300
    wall: float = 1.0
    kernel: Kernel = field(default_factory=RBF)

    def __post_init__(self) -> None:
        if self.num_history < 0 or self.max_points < 2 or self.num_selection_points < 2:
            raise ValueError("Interpolant expects num_history of at least 0, and at least 2 points")
        if not (self.nugget > 0 and self.wall > 0 and self.length_scales and min(self.length_scales) > 0):
            raise ValueError("Interpolant expects a positive nugget and wall, and positive length_scales")

    def build(self, points: Array, log_target: Array, num_current: int) -> InterpolantSurrogate:
        coordinates = Whitened().fit(points[:num_current])
        points, log_target = points[: self.max_points], log_target[: self.max_points]
        z, values = coordinates.forward(points), _with_wall(log_target, self.wall)
        bandwidth, nugget = self._most_likely(z, values)
        gram = gram_matrix(z, self.kernel, bandwidth, nugget)
        trend, coefficients, _ = generalized_least_squares(gram, trend_features(z), values)
        return InterpolantSurrogate(coordinates, z, coefficients, trend, self.kernel, bandwidth)

    @property
    def nuggets(self) -> tuple[float, ...]:
        """Candidates for the nugget: here it is given."""
        return (self.nugget,)

    def _most_likely(self, z: Array, values: Array) -> tuple[float, float]:
        r"""The most likely :math:`2\ell^2` and nugget, judged on an evenly spread part of the points."""
        stride = -(-len(z) // self.num_selection_points)
        z, values = z[::stride], values[::stride]
        bandwidths = [float(2 * scale * z.shape[1]) for scale in self.length_scales]
        candidates = [(bandwidth, nugget) for bandwidth in bandwidths for nugget in self.nuggets]
        return max(candidates, key=lambda candidate: self.log_likelihood(z, values, *candidate))

    def log_likelihood(self, z: Array, values: Array, bandwidth: float, nugget: float) -> float:
        """Of the values under the process, its variance profiled out; up to a constant."""
        squares, log_determinant = profile(gram_matrix(z, self.kernel, bandwidth, nugget), trend_features(z), values)
        if not squares > 0:
            return -np.inf
        return float(-0.5 * (len(values) * np.log(squares / len(values)) + log_determinant))


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
        return self.log_prob_and_score(x)[0]

    def score(self, x: Array) -> Array:
        return self.log_prob_and_score(x)[1]

    def log_prob_and_score(self, x: Array) -> tuple[Array, Array]:
        """Both at the price of one."""
        z = self.coordinates.forward(x)
        values, slopes = kernel_expansion(z, self.centres, self.coefficients, self.kernel, self.bandwidth)
        slopes = slopes + self.trend[1:-1] + 2 * self.trend[-1] * z
        return values + trend_features(z) @ self.trend, self.coordinates.pull_back_score(x, slopes)


def trend_features(z: Array) -> Array:
    """The columns 1, z and ‖z‖² of the mean."""
    return np.column_stack([np.ones(len(z)), z, (z**2).sum(axis=1)])


def _with_wall(log_target: Array, wall: float) -> Array:
    inside = np.isfinite(log_target)
    return np.where(inside, log_target, log_target[inside].min() - wall)


def gram_matrix(z: Array, kernel: Kernel, bandwidth: float, nugget: float) -> Array:
    """The kernel matrix of the points with the nugget on its diagonal."""
    gram = kernel.value(squared_distances(z, z) / bandwidth)
    gram[np.diag_indices_from(gram)] += nugget
    return gram


def generalized_least_squares(gram: Array, features: Array, values: Array) -> tuple[Array, Array, float]:
    r"""The trend :math:`(F^\top K^{-1} F + \lambda I)^{-1} F^\top K^{-1} v`, the residual's coefficients under K, and
    :math:`\log |K|`.
    """
    offset = values.mean()
    solved, log_determinant = _solved(gram, np.column_stack([features, values - offset]))
    normal = features.T @ solved
    moments, right_side = normal[:, :-1], normal[:, -1]
    moments[np.diag_indices_from(moments)] += _RIDGE * np.trace(moments) / len(moments)
    trend = np.asarray(np.linalg.solve(moments, right_side), dtype=np.float64)
    coefficients = solved[:, -1] - solved[:, :-1] @ trend
    trend[0] += offset
    return trend, coefficients, log_determinant


def _solved(gram: Array, columns: Array) -> tuple[Array, float]:
    """The inverse of the matrix times the columns, and its log-determinant, infinite if it is not positive in rounding.

    By Cholesky, at half the price of elimination, which is left for matrices that are not positive.
    """
    try:
        factor = cho_factor(gram, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.solve(gram, columns)), np.inf
    return np.asarray(cho_solve(factor, columns, check_finite=False)), float(2 * np.log(np.diag(factor[0])).sum())


def profile(gram: Array, features: Array, values: Array) -> tuple[float, float]:
    r"""The residual's :math:`r^\top K^{-1} r` and :math:`\log |K|`; infinite if K is not positive in rounding."""
    trend, coefficients, log_determinant = generalized_least_squares(gram, features, values)
    return float((values - features @ trend) @ coefficients), log_determinant
