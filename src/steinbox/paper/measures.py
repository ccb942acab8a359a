r"""Errors of particles: for mixtures of Gaussians in closed form, for other targets by reference draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import median_squared_distance, weighted_kernel_mean, weighted_kernel_square
from steinbox.paper.targets import GaussBernoulliRBM

_DRAWS_FOR_BANDWIDTH = 2000


class Truth(ABC):
    r"""A target with known moments and a discrepancy from it.

    The kernel of the discrepancy is :math:`k(x, y) = e^{-\|x-y\|^2 / h}`; h is the squared median distance of exact
    draws, as in the paper.
    """

    @property
    @abstractmethod
    def mean(self) -> Array:
        """The target's mean."""

    @property
    @abstractmethod
    def variances(self) -> Array:
        """The target's variances."""

    @abstractmethod
    def squared_mmd(self, points: Array, weights: Array) -> float:
        """The square of the maximum mean discrepancy between weighted points and the target."""

    def __call__(self, points: Array, weights: Array) -> dict[str, float]:
        """The metrics of the paper: MMD², and the squared errors of mean and variance, averaged over coordinates.

        ``variance_ratio`` is the estimated variance over the exact one.
        """
        mean = weights @ points
        variances = weights @ (points - mean) ** 2
        return {
            "mmd2": self.squared_mmd(points, weights),
            "mean_mse": float(((mean - self.mean) ** 2).mean()),
            "variance_mse": float(((variances - self.variances) ** 2).mean()),
            "variance_ratio": float((variances / self.variances).mean()),
        }


@dataclass(frozen=True, eq=False)
class SphericalMixture(Truth):
    r"""A target :math:`\sum_k \pi_k N(\mu_k, s I)`, for which

    .. math:: \mathrm{E}_y k(x, y) = c_1 \sum_k \pi_k e^{-\|x - \mu_k\|^2 / (h + 2s)}, \qquad
              \mathrm{E}_{y y'} k(y, y') = c_2 \sum_{kl} \pi_k \pi_l e^{-\|\mu_k - \mu_l\|^2 / (h + 4s)},

    :math:`c_j = (h / (h + 2js))^{d/2}`, so that the distance is that to the target itself, not to draws of it.

    Examples
    --------
    >>> import numpy as np
    >>> normal = SphericalMixture(np.zeros((1, 2)), np.ones(1), 1.0)
    >>> draws = np.random.default_rng(0).standard_normal((500, 2))
    >>> bool(normal.squared_mmd(draws, np.full(500, 1 / 500)) < 0.005)
    True
    """

    means: Array
    weights: Array
    variance: float

    @classmethod
    def of(cls, target: GaussBernoulliRBM) -> SphericalMixture:
        """Of a restricted Boltzmann machine: a unit Gaussian for every state of its hidden units."""
        return cls(target.centers, target.probabilities, 1.0)

    @property
    def mean(self) -> Array:
        return self.weights @ self.means

    @property
    def variances(self) -> Array:
        return np.asarray(self.variance + self.weights @ (self.means - self.mean) ** 2)

    @cached_property
    def bandwidth(self) -> float:
        """The h of the discrepancy."""
        rng = np.random.default_rng(0)
        means = self.means[rng.choice(len(self.means), size=_DRAWS_FOR_BANDWIDTH, p=self.weights)]
        return median_squared_distance(means + np.sqrt(self.variance) * rng.standard_normal(means.shape))

    def squared_mmd(self, points: Array, weights: Array) -> float:
        h, s, d = self.bandwidth, self.variance, points.shape[1]
        own = weighted_kernel_square(points, weights, RBF(), h)
        crossed = weighted_kernel_mean(points, weights, self.means, self.weights, RBF(), h + 2 * s)
        return float(own - 2 * (h / (h + 2 * s)) ** (d / 2) * crossed + self._square)

    @cached_property
    def _square(self) -> float:
        h, s, d = self.bandwidth, self.variance, self.means.shape[1]
        return float((h / (h + 4 * s)) ** (d / 2) * weighted_kernel_square(self.means, self.weights, RBF(), h + 4 * s))


@dataclass(frozen=True, eq=False)
class ReferenceDraws(Truth):
    """A target of which only draws are known."""

    draws: Array

    @property
    def mean(self) -> Array:
        return np.asarray(self.draws.mean(axis=0))

    @property
    def variances(self) -> Array:
        return np.asarray(self.draws.var(axis=0))

    @cached_property
    def bandwidth(self) -> float:
        """The h of the discrepancy."""
        return median_squared_distance(self.draws)

    def squared_mmd(self, points: Array, weights: Array) -> float:
        own = weighted_kernel_square(points, weights, RBF(), self.bandwidth)
        crossed = weighted_kernel_mean(points, weights, self.draws, self._equal, RBF(), self.bandwidth)
        return float(own - 2 * crossed + self._square)

    @property
    def _equal(self) -> Array:
        return np.full(len(self.draws), 1 / len(self.draws))

    @cached_property
    def _square(self) -> float:
        return weighted_kernel_square(self.draws, self._equal, RBF(), self.bandwidth)
