r"""What few evaluations say of log p where its mass seems to be: a concave quadratic, and a Gaussian process.

The points are weighted by :math:`p^a`, with the power a that leaves a third of them an effective sample size. Their
mean and covariance give whitened coordinates z, and :math:`u = 1/a` the unit of log p: from far away, values differ by
thousands of nats, near the target u is one. There

.. math:: \log p(x) = z^\top B z + \beta^\top (1, z) + g(z) + r(x), \qquad
          g \sim GP\big(0, s^2 e^{-\|z - z'\|^2 / 2\ell^2}\big), \quad
          r(x) \sim N\big(0, (0.01\,u)^2 + (c\,\Delta)^2\big),

with :math:`\Delta` the nats by which a point is below the top (the noise shaping of Acerbi, 2020). B is fitted first,
by least squares around :math:`-\tfrac12 u I`, and its eigenvalues are kept negative, so that the density is proper
however heavy its tails look from afar (Acerbi, 2018, has a negative quadratic, too). Then s, :math:`\ell` and c are
the most likely of a few. The regression is that of :mod:`steinbox.numerics.low_rank_regression`, as with noise.

References
----------
L. Acerbi (2018). Variational Bayesian Monte Carlo. *NeurIPS* 31.
L. Acerbi (2020). Variational Bayesian Monte Carlo with noisy likelihoods. *NeurIPS* 33.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from steinbox.common.arrays import Array
from steinbox.maps.coordinates import Affine
from steinbox.numerics.annealed_draws import annealed_draws
from steinbox.numerics.low_rank_regression import LowRankRegression, nystroem_features
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.weights import normalize, temper

_SIZE = 0.3  # of the points: the effective sample size of the weights that say where the mass seems to be
_MARGIN = 3.0  # beyond √d, in units of z: as far as the surrogate reaches; points three times as far away teach it
_FARTHEST = 1000.0  # units of log p below the top: what is less dense takes no part
_QUADRATIC_SLACK = 0.4  # of Δ: r far out, of the quadratic alone, which is to describe what is near
_MISFIT, _QUADRATIC_MISFIT = 0.01, 0.3  # in units u: r near the top, of the whole model and of the quadratic alone
_FLATTEST = 0.05  # in units u: the smallest of the negative eigenvalues
_CURVATURE_STD = 1.0  # in units u: prior standard deviation of the entries of B
_VAGUE = 100.0  # in units u: prior standard deviation of the linear trend
_CANDIDATES: dict[str, tuple[float, ...]] = {
    "amplitude": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),  # s, in units u
    "length_scale": (0.05, 0.2, 0.8, 3.0, 12.0),  # ℓ²/d
    "slack": (0.05, 0.1, 0.2),  # c
}
_NUM_SWEEPS = 2  # over the settings, one after the other
_NUM_CENTERS, _NUM_TO_SELECT = 200, 200  # points that span g, and that choose among the candidates
_CAUTION = 0.5  # standard deviations by which the density is below the mean
_START_STD = 1.5  # in units of z: the Gaussian that draws begin with


@dataclass(frozen=True, eq=False)
class LocalSurrogate:
    """The regression of log-densities at whitened points z (n, d); made by :func:`fit_surrogate`."""

    coordinates: Affine
    unit: float
    z: Array = field(repr=False)
    log_prob: Array = field(repr=False)
    outside: Array = field(repr=False)
    curvature: Array
    amplitude: float = 3.0
    length_scale: float = 0.8
    slack: float = 0.1

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return int(self.z.shape[1])

    @cached_property
    def _level(self) -> float:
        return float(self.log_prob.max())

    @cached_property
    def _centers(self) -> Array:
        return self.z[:: -(-len(self.z) // _NUM_CENTERS)]

    @cached_property
    def regression(self) -> LowRankRegression:
        """Of what the quadratic leaves."""
        below = self._level - self.log_prob
        misfit = np.hypot(_MISFIT * self.unit, self.slack * below)
        return LowRankRegression(self._features(self.z), -below - self._quadratic(self.z), 0.0, misfit)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of log p at the points."""
        return self._predict(self.coordinates.forward(points))

    def covariance(self, points: Array) -> Array:
        """Of log p at the points, (m, m)."""
        features = self._features(self.coordinates.forward(points))
        deviations = self.regression.deviations(features)
        return np.asarray(deviations.T @ deviations + np.diag(self._unspanned(features)))

    def log_density(self, points: Array) -> Array:
        r"""The :math:`\mu - \sigma / 2` that draws are made of: low where little is known, −inf beyond reach.

        Also −inf where the nearest point is outside the support.
        """
        return self._log_density(self.coordinates.forward(points))

    def draw(
        self, num_draws: int, rng: np.random.Generator, *, power: float = 1.0, num_moves: int = 8
    ) -> tuple[Array, float]:
        """Draws of it, to a power, and the logarithm of the integral."""

        def log_prob(z: Array) -> Array:
            return power * self._log_density(z)

        std = _START_STD / np.sqrt(power)
        draws, log_evidence = annealed_draws(log_prob, self.dimension, std, num_draws, rng, num_moves)
        log_volume = np.linalg.slogdet(self.coordinates.root)[1]
        return self.coordinates.inverse(draws), float(log_evidence + log_volume)

    def _predict(self, z: Array) -> tuple[Array, Array]:
        features = self._features(z)
        mean = self._level + self._quadratic(z) + self.regression.predict(features)
        variance = (self.regression.deviations(features) ** 2).sum(axis=0) + self._unspanned(features)
        return mean, np.sqrt(variance)

    def _log_density(self, z: Array) -> Array:
        mean, std = self._predict(z)
        inside = (z**2).sum(axis=1) < reach(self.dimension) ** 2
        if len(self.outside) > 0:
            inside &= squared_distances(z, self.outside).min(axis=1) > squared_distances(z, self.z).min(axis=1)
        return np.where(inside, mean - _CAUTION * std, -np.inf)

    def _quadratic(self, z: Array) -> Array:
        return np.asarray(((z @ self.curvature) * z).sum(axis=1))

    def _features(self, z: Array) -> Array:
        bandwidth = 2 * self.length_scale * self.dimension
        trend = _VAGUE * np.column_stack([np.ones(len(z)), z])
        kernel = self.amplitude * nystroem_features(z, self._centers, bandwidth)
        return self.unit * np.column_stack([trend, kernel])

    def _unspanned(self, features: Array) -> Array:
        """The variance of g that its centers do not span."""
        spanned = (features[:, self.dimension + 1 :] ** 2).sum(axis=1)
        return np.asarray(np.maximum((self.unit * self.amplitude) ** 2 - spanned, 0.0))


def reach(dimension: int) -> float:
    """How far from the center a surrogate predicts, in whitened units."""
    return float(np.sqrt(dimension) + _MARGIN)


def fit_surrogate(points: Array, log_prob: Array) -> LocalSurrogate:
    """Fit it to log-densities (n,) at points (n, d), at least d + 5 of them finite.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> points = 3 * rng.standard_normal((60, 2))
    >>> surrogate = fit_surrogate(points, -0.5 * ((points - 1) ** 2).sum(axis=1))
    >>> mean, std = surrogate.predict(np.array([[1.0, 1.0]]))
    >>> bool(abs(mean[0]) < 0.1 and std[0] < 0.1)
    True
    >>> draws, log_evidence = surrogate.draw(1000, rng)
    >>> bool(abs(log_evidence - np.log(2 * np.pi)) < 0.2)
    True
    """
    inside = np.isfinite(log_prob)
    coordinates, unit = _locate(points[inside], log_prob[inside])
    z, outside = coordinates.forward(points[inside]), coordinates.forward(points[~inside])
    is_near = np.linalg.norm(z, axis=1) < 3 * reach(points.shape[1])
    is_near &= log_prob[inside] > log_prob.max() - _FARTHEST * unit
    z, values = z[is_near], log_prob[inside][is_near]
    order = np.argsort(-values, kind="stable")
    z, values = z[order], values[order]
    curvature = _fit_concave(z, values - values[0], unit)
    return _choose(LocalSurrogate(coordinates, unit, z, values, outside, curvature))


def _locate(points: Array, log_prob: Array) -> tuple[Affine, float]:
    """Coordinates in which the points of tempered weight are white, and one over the power."""
    number, dimension = points.shape
    power = temper(log_prob, min(max(_SIZE * number, dimension + 3), 0.7 * number))
    weights = normalize(power * log_prob)
    center = weights @ points
    centered = points - center
    covariance = (centered * weights[:, None]).T @ centered
    root = np.asarray(np.linalg.cholesky(covariance + np.diag(1e-3 * np.diag(covariance) + 1e-300)), dtype=np.float64)
    return Affine(center, root, np.asarray(np.linalg.inv(root), dtype=np.float64)), 1 / power


def _fit_concave(z: Array, values: Array, unit: float) -> Array:
    """The matrix B, by least squares with the prior N(−½ u, u²) of its entries, eigenvalues made negative."""
    dimension = z.shape[1]
    first, second = np.triu_indices(dimension)
    features = np.column_stack([np.ones(len(z)), z, z[:, first] * z[:, second]])
    features *= unit * np.repeat([_VAGUE, _CURVATURE_STD], [dimension + 1, len(first)])
    misfit = np.hypot(_QUADRATIC_MISFIT * unit, _QUADRATIC_SLACK * values)
    regression = LowRankRegression(features, values + 0.5 * unit * (z**2).sum(axis=1), 0.0, misfit)
    upper = np.zeros((dimension, dimension))
    upper[first, second] = unit * _CURVATURE_STD * regression.coefficients[dimension + 1 :]
    eigenvalues, vectors = np.linalg.eigh(0.5 * (upper + upper.T) - 0.5 * unit * np.eye(dimension))
    return np.asarray((vectors * np.minimum(eigenvalues, -_FLATTEST * unit)) @ vectors.T)


def _choose(surrogate: LocalSurrogate) -> LocalSurrogate:
    """With the most likely settings, one after the other."""
    some = slice(None, None, -(-len(surrogate.z) // _NUM_TO_SELECT))
    best = replace(surrogate, z=surrogate.z[some], log_prob=surrogate.log_prob[some])
    scores: dict[tuple[float, ...], float] = {}

    def score(candidate: LocalSurrogate) -> float:
        key = tuple(getattr(candidate, name) for name in _CANDIDATES)
        if key not in scores:
            try:
                scores[key] = candidate.regression.log_likelihood
            except np.linalg.LinAlgError:  # points that are all but the same, for so long a length-scale
                scores[key] = -np.inf
        return scores[key]

    for name, candidates in _NUM_SWEEPS * list(_CANDIDATES.items()):
        best = max((replace(best, **{name: each}) for each in candidates), key=score)  # type: ignore[arg-type]
    return replace(best, z=surrogate.z, log_prob=surrogate.log_prob)
