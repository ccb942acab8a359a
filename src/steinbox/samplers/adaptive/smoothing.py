r"""Noise: values are smoothed by a regression before they become weights.

With noise of standard deviation :math:`\sigma` in log p, weights :math:`e^{y_i} / \sum_j n_j q_j` rest on lucky values,
and their sum is :math:`e^{\sigma^2/2}` times too large. So log p is modeled as a smooth function and what this leaves
(:mod:`steinbox.numerics.low_rank_regression`),

.. math:: \log p(x) = b(x) + \text{quadratic}(z) + g(z) + r(x), \qquad g \sim GP(0, s^2 e^{-\|z - z'\|^2 / 2\ell^2}),
          \quad r(x) \sim N(0, \tau^2 + (0.1\,\Delta)^2),

in whitened coordinates z, with g spanned by some of the points (Nyström's method), and :math:`\Delta` the nats by which
a point is below the top: far out, a model need not be as good (the noise shaping of Acerbi, 2020). The base b is the
fitted mixture's log-density or nothing. It, :math:`\ell`, s and :math:`\tau` are the most likely of a few.

The posterior mean has the part :math:`\kappa = \operatorname{var} r / (\operatorname{var} r + \sigma^2)` of a value's
own noise, which is e to the power of :math:`\kappa^2\sigma^2/2` in the mean. So the log-density that is weighted is

.. math:: \hat f_i - \tfrac12 \kappa_i^2 \sigma^2 ,

with :math:`\sigma^2/2` added to all values before, if it is p that was estimated without bias
(:class:`~steinbox.Noise`). Where no smooth function fits, :math:`\kappa = 1`, these are the unbiased weights of
noisy values.

References
----------
L. Acerbi (2020). Variational Bayesian Monte Carlo with noisy likelihoods. *NeurIPS* 33.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.noise import Noise
from steinbox.densities.density import Density
from steinbox.maps.coordinates import Whitened
from steinbox.numerics.low_rank_regression import LowRankRegression, nystroem_features
from steinbox.numerics.weights import normalize, systematic_resample, temper
from steinbox.samplers.adaptive.proposers.repeats import Repeats
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive

_FARTHEST = 1000.0  # nats below the top: what is less dense takes no part
_MIN_POINTS = 10  # that take part: with fewer, nothing is smoothed
_MAX_QUADRATIC = 300  # coefficients of the quadratic: beyond, it has no products of two coordinates
_NUM_CENTERS, _NUM_CENTERS_TO_SELECT = 200, 100  # points that span g
_MAX_POINTS_TO_SELECT = 600  # that choose among the candidates
_SLACK = 0.1  # of the distance to the top, in nats: the standard deviation of r far out
_TREND_SPREAD = 30.0  # times the spread of the values: prior standard deviation of the quadratic's coefficients
_MIN_SPREAD = 0.2  # of all points: the effective sample size of weights that say where the mass is, by and large
_LOWEST_BASE = -1e5  # nats: a mixture's log-density far out, where it says nothing


@dataclass(frozen=True)
class Smoothness:
    r"""A candidate: :math:`\ell^2/d`, s and :math:`\tau` in nats, and whether the mixture is the base."""

    length_scale: float = 0.64
    amplitude: float = 10.0
    misfit: float = 1.5
    has_base: bool = False


_CANDIDATES: dict[str, tuple[Any, ...]] = {
    "amplitude": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0),
    "length_scale": (0.01, 0.04, 0.16, 0.64, 2.5, 10.0),
    "misfit": (0.5, 1.5, 5.0, 15.0, 50.0),  # no model of log p is trusted to less than half a nat
    "has_base": (False, True),
}
_NUM_SWEEPS = 2  # over the settings, one after the other


def smooth_state(state: AdaptiveState, log_prob: Array, noise: Noise) -> AdaptiveState:
    """The state with smoothed values in its archive, whose last values (m,) are new; as it is if there is no noise."""
    num_before = len(state.observed)
    state = replace(state, observed=np.concatenate([state.observed, log_prob]))
    std = state.memories.get(Repeats.name) if noise.std is None else noise.std
    if not std:
        return state
    base = None if state.fit is None else state.fit.density
    observed = state.observed + noise.offset(std)
    so_far = np.concatenate([state.archive.log_prob[:num_before], observed[num_before:]])
    archive, error = smooth(replace(state.archive, log_prob=so_far), observed, std, base)
    return replace(state, archive=archive, noise_error=error)


def smooth(
    archive: WeightedArchive, observed: Array, std: float, base: Density | None = None
) -> tuple[WeightedArchive, float]:
    """The archive with smoothed log-densities, and the standard deviation of its log-evidence that noise leaves.

    Parameters
    ----------
    archive : WeightedArchive
        Its log-densities, smoothed before or not, say where the mass is, by and large.
    observed : (n,) array
        The values, without bias for log p; those that are infinite, or 1,000 nats below the top, stay as they are.
    std : float
        Of their noise, in nats.
    base : Density, optional
        A density that resembles the target.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> start, rng = sb.Gaussian([0.0, 0.0], std=2.0), np.random.default_rng(0)
    >>> points = start.sample(1000, rng)
    >>> values = -0.5 * (points**2).sum(axis=1) + 3 * rng.standard_normal(1000)
    >>> source = sb.adaptive.Source("initial", None, 1000)
    >>> archive = sb.adaptive.WeightedArchive.empty(2).extend(points, values, (source,), start)
    >>> smoothed, error = smooth(archive, values, 3.0)
    >>> bool(archive.log_evidence - np.log(2 * np.pi) > 3), bool(abs(smoothed.log_evidence - np.log(2 * np.pi)) < 0.3)
    (True, True)
    """
    inside = np.flatnonzero(archive.log_prob > archive.log_prob.max() - _FARTHEST)
    if len(inside) < _MIN_POINTS:
        return replace(archive, log_prob=observed), 0.0
    data = _Data.of(archive, inside, observed[inside], std, base)
    smoothness = _choose_smoothness(data.every(-(-len(inside) // _MAX_POINTS_TO_SELECT)))
    regression = data.regress(smoothness, _NUM_CENTERS)
    log_prob = np.array(observed)
    log_prob[inside] = data.level(smoothness) + regression.mean - 0.5 * (regression.own_share * std) ** 2
    smoothed = replace(archive, log_prob=log_prob)
    weights = normalize(smoothed.log_weights)[inside]
    return smoothed, float(np.sqrt(regression.variance_of_mean(weights)))


@dataclass(frozen=True, eq=False)
class _Data:
    """Values (n,) at whitened points z (n, d), the slack of r and the base there; ``draws`` are about where mass is."""

    z: Array
    values: Array
    std: float
    slack: Array
    base: Array | None
    draws: Array

    @classmethod
    def of(
        cls, archive: WeightedArchive, inside: IntegerArray, values: Array, std: float, base: Density | None
    ) -> _Data:
        points, log_prob, log_weights = archive.points[inside], archive.log_prob[inside], archive.log_weights[inside]
        power = temper(log_weights, max(_MIN_SPREAD * len(inside), 0.5 * min(len(inside), 100)))
        rows = systematic_resample(normalize(power * log_weights), 5 * _NUM_CENTERS, np.random.default_rng(0))
        coordinates = Whitened().fit(points[rows])
        z = coordinates.forward(points)
        log_base = None if base is None else np.maximum(base.log_prob(points), _LOWEST_BASE)
        return cls(z, values, std, _SLACK * (log_prob.max() - log_prob), log_base, np.unique(z[rows], axis=0))

    def every(self, step: int) -> _Data:
        """With every step-th point."""
        base = None if self.base is None else self.base[::step]
        return replace(self, z=self.z[::step], values=self.values[::step], slack=self.slack[::step], base=base)

    def level(self, smoothness: Smoothness) -> Array:
        """What is subtracted from the values: the base, and the median of the rest."""
        base = self.base if smoothness.has_base and self.base is not None else np.zeros(len(self.z))
        return np.asarray(base + np.median(self.values - base))

    def regress(self, smoothness: Smoothness, num_centers: int) -> LowRankRegression:
        """The regression with these settings, on the quadratic and on so many centers."""
        values = self.values - self.level(smoothness)
        spread = _TREND_SPREAD * (self.std + np.subtract(*np.quantile(values, [0.9, 0.1])))
        centers = self.draws[:: -(-len(self.draws) // num_centers)]
        bandwidth = 2 * smoothness.length_scale * self.z.shape[1]
        kernel = smoothness.amplitude * nystroem_features(self.z, centers, bandwidth)
        features = np.column_stack([spread * _quadratic(self.z), kernel])
        return LowRankRegression(features, values, self.std, np.hypot(self.slack, smoothness.misfit))


def _choose_smoothness(data: _Data) -> Smoothness:
    """The most likely of the candidates, one setting after the other."""
    best, scores = Smoothness(has_base=data.base is not None), dict[Smoothness, float]()

    def score(smoothness: Smoothness) -> float:
        if smoothness not in scores:
            scores[smoothness] = data.regress(smoothness, _NUM_CENTERS_TO_SELECT).log_likelihood
        return scores[smoothness]

    for name, candidates in _NUM_SWEEPS * list(_CANDIDATES.items()):
        usable = (False,) if name == "has_base" and data.base is None else candidates
        best = max((replace(best, **{name: candidate}) for candidate in usable), key=score)
    return best


def _quadratic(z: Array) -> Array:
    """Its monomials."""
    first, second = np.triu_indices(z.shape[1])
    if 1 + z.shape[1] + len(first) > _MAX_QUADRATIC:
        first = second = np.arange(z.shape[1])
    return np.column_stack([np.ones(len(z)), z, z[:, first] * z[:, second]])
