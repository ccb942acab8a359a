r"""What the archive foretells of points that were not evaluated: a Gaussian process through the log-densities
of the points that hold nearly all weight,

.. math:: \log p(x) = b(x) + \beta^\top (1, z, \|z\|^2) + g(z), \qquad \operatorname{cov}(g(z), g(z'))
          = s^2 \big(k(z, z') + \eta\, 1_{z = z'}\big),

in whitened coordinates z. The base b is nothing, or the log-density of the fitted mixture, which leaves to the process
what the mixture does not explain. Base, length-scale and :math:`\eta` are the most likely of a few; :math:`s^2` and
:math:`\beta` are profiled out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.density import Density
from steinbox.maps.coordinates import Affine, Whitened
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import squared_distances
from steinbox.surrogates.interpolant import generalized_least_squares, gram_matrix, profile, trend_features

_LENGTH_SCALES = (0.25, 1.0, 4.0, 16.0, 64.0)  # candidates for ℓ²/d in k = exp(−‖z − z'‖²/2ℓ²)
_NUGGETS = (1e-6, 1e-4, 1e-2)
_NUM_JUDGES = 300  # points that choose among the candidates
_TILE = 4096  # points at a time


@serializable("gaussian-process")
@dataclass(frozen=True, eq=False)
class Regression:
    """The process, given its values at the centres."""

    base: Density | None
    coordinates: Affine
    centres: Array
    trend: Array
    coefficients: Array
    root: Array = field(repr=False)
    scale: float
    bandwidth: float
    nugget: float

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Mean and variance of log p at the rows of ``x``."""
        parts = [self._predict(x[start : start + _TILE]) for start in range(0, len(x), _TILE)]
        mean, variance = (np.concatenate(each) for each in zip(*parts, strict=True))
        return mean, variance

    def leave_one_out(self, log_prob: Array) -> tuple[Array, Array]:
        r"""Mean and variance at each centre, foretold without its own value (Rasmussen & Williams, 2006, eq. 5.12),

        .. math:: \mu_i = v_i - [K^{-1} r]_i / [K^{-1}]_{ii}, \qquad \sigma_i^2 = s^2 / [K^{-1}]_{ii}

        with the residuals r of the trend, which stays as it is.
        """
        inverse_root = solve_triangular(self.root, np.eye(len(self.root)), lower=True, check_finite=False)
        precision = (inverse_root**2).sum(axis=0)
        return log_prob - self.coefficients / precision, self.scale / precision

    def _predict(self, x: Array) -> tuple[Array, Array]:
        z = self.coordinates.forward(x)
        near = RBF().value(squared_distances(self.centres, z) / self.bandwidth)
        mean = _base(self.base, x) + trend_features(z) @ self.trend + self.coefficients @ near
        known = (solve_triangular(self.root, near, lower=True, check_finite=False) ** 2).sum(axis=0)
        return np.asarray(mean), self.scale * np.maximum(1 + self.nugget - known, 0.0)


@serializable("surrogate-density")
@dataclass(frozen=True, eq=False)
class SurrogateDensity:
    r"""The density that points have which were chosen by a regression: :math:`\rho / \int\rho`, with

    .. math:: \log\rho(x) = \mu(x) - \sigma^2(x).

    The variance keeps it low where little is known, as in :class:`~steinbox.surrogates.LeaveOneOut`. At a point that it
    was taught it is what it would be without that point: there the process knows :math:`\log p`, which says nothing of
    the places around, and would make every weight look even.
    """

    known: Regression
    log_evidence: float
    taught: Array = field(repr=False)
    leave_one_out: Array = field(repr=False)

    @classmethod
    def of(cls, known: Regression, points: Array, log_prob: Array, log_evidence: float) -> SurrogateDensity:
        """The density of a regression of these values, whose integral is given."""
        mean, variance = known.leave_one_out(log_prob)
        return cls(known, log_evidence, points, mean - variance)

    def log_prob(self, x: Array) -> Array:
        """The normalised log-density at the rows of ``x``."""
        mean, variance = self.known.predict(x)
        leave_one_out = dict(zip(map(bytes, self.taught), self.leave_one_out, strict=True))
        found = [leave_one_out.get(bytes(row), np.nan) for row in x]
        return np.where(np.isnan(found), mean - variance, found) - self.log_evidence


def regression(points: Array, log_prob: Array, mixture: Density) -> Regression | None:
    """The process through these values; None if its covariance is not positive in rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.densities.fitting.model_selection import choose
    >>> from steinbox.densities.fitting.weighted_points import WeightedPoints
    >>> rng = np.random.default_rng(0)
    >>> points = rng.standard_normal((100, 2))
    >>> mixture = choose(WeightedPoints(points, np.full(100, 0.01), 100), rng).density
    >>> mean, variance = regression(points, np.cos(points).sum(axis=1), mixture).predict(np.array([[0.5, 0.5]]))
    >>> bool(abs(mean[0] - 2 * np.cos(0.5)) < 1e-3 and variance[0] < 1e-3)
    True
    """
    coordinates = Whitened().fit(points)
    z = coordinates.forward(points)
    base, bandwidth, nugget = _most_likely(points, z, log_prob, mixture)
    gram, values = gram_matrix(z, RBF(), bandwidth, nugget), log_prob - _base(base, points)
    trend, coefficients, log_determinant = generalized_least_squares(gram, trend_features(z), values)
    if not np.isfinite(log_determinant):
        return None
    scale = (values - trend_features(z) @ trend) @ coefficients / len(values)
    root = cholesky(gram, lower=True, check_finite=False)
    return Regression(base, coordinates, z, trend, coefficients, root, max(float(scale), 0.0), bandwidth, nugget)


def _base(base: Density | None, x: Array) -> Array:
    return np.zeros(len(x)) if base is None else base.log_prob(x)


def _most_likely(points: Array, z: Array, log_prob: Array, mixture: Density) -> tuple[Density | None, float, float]:
    """The base, the bandwidth and the nugget under which some of the values are the most likely."""
    some = slice(None, None, -(-len(z) // _NUM_JUDGES))
    z, points, log_prob = z[some], points[some], log_prob[some]
    features, bases = trend_features(z), (None, mixture)
    values = [log_prob - _base(base, points) for base in bases]
    candidates = []
    for scale, nugget in product(_LENGTH_SCALES, _NUGGETS):
        bandwidth = 2 * scale * z.shape[1]
        gram = gram_matrix(z, RBF(), bandwidth, nugget)
        for base, residual in zip(bases, values, strict=True):
            squares, log_determinant = profile(gram, features, residual)
            loss = len(z) * np.log(squares / len(z)) + log_determinant if squares > 0 else np.inf
            candidates.append((loss, base, bandwidth, nugget))
    return min(candidates, key=lambda each: each[0])[1:]
