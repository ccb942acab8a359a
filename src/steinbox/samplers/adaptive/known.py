r"""What is known of a target, and which points it does not explain.

The fitted family :math:`\hat q`, once weights are even, and the Gaussians :math:`N_k` at the tops of climbs, with their
heights, predict a log-density for every point. The excess of a point is

.. math:: e(x) = \log p(x) - \max\big(\log \hat Z + \log \hat q(x),\; \max_k \log N_k(x)\big).

An unknown mode shows far from its top, in the excess of draws that are nearest to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.common.serialization import serializable
from steinbox.densities.density import Density
from steinbox.numerics.weights import normalize
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive

_SLACK = 0.05  # of the distance to the top, in nats: far out, what is known is not known better than that
_RARE = 0.05  # share of the weight on less dense points: a climb goes on from there
_DEVIATIONS = 2.0  # the same for a Gaussian: standard deviations of its log-density below the mean, d / 2 below the top
_SLACK_BELOW = 0.3  # the same where a point is less dense, since proposals err on the wide side


def is_small(excess: float, distance: float, min_excess: float) -> bool:
    """Whether a point at this distance from the top, in nats, is as dense as predicted."""
    return bool(abs(excess) < min_excess + _SLACK * max(distance, 0.0))


@serializable("adaptive-summit")
@dataclass(frozen=True, eq=False)
class Summit:
    """A mode, in units of the start: where, how high, and a covariance."""

    point: Array
    log_prob: float
    covariance: Array

    @property
    def log_mass(self) -> float:
        """Of the Gaussian of this height, in units of the start (Laplace's approximation)."""
        return self.log_prob + 0.5 * float(np.linalg.slogdet(2 * np.pi * self.covariance)[1])

    def log_density(self, points: Array) -> Array:
        """Of the Gaussian of this height, at points (n, d)."""
        offsets = (points - self.point).T
        return np.asarray(self.log_prob - 0.5 * (offsets * np.linalg.solve(self.covariance, offsets)).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Known:
    """The Gaussians at the summits, which are in units of the start, and the fitted family, once weights are even."""

    summits: tuple[Summit, ...]
    center: Array
    scale: Array
    archive: WeightedArchive
    density: Density | None

    @property
    def highest(self) -> float:
        """The highest log-density so far."""
        return max([float(self.archive.log_prob.max()), *(summit.log_prob for summit in self.summits)])

    def excess(self, points: Array, log_prob: Array) -> Array:
        """Nats by which points are denser than what is known; −inf outside the support."""
        z = (points - self.center) / self.scale
        known = [np.full(len(points), -np.inf), *(summit.log_density(z) for summit in self.summits)]
        if self.density is not None:
            known.append(self.archive.log_evidence + self.density.log_prob(points))
        with np.errstate(invalid="ignore"):
            excess = log_prob - np.max(known, axis=0)
        return np.where(np.isfinite(log_prob), excess, -np.inf)

    def explains(self, point: Array, log_prob: float, min_excess: float) -> bool:
        """Whether a point (d,) is where draws of what is known are, and as dense as it should be.

        Farther out, two modes may be as dense as each other, and a climb that ended there would not tell them apart.
        """
        excess = float(self.excess(point[None], np.array([log_prob]))[0])
        return log_prob > self._typical_level(point) and is_small(excess, self.highest - log_prob, min_excess)

    def _typical_level(self, point: Array) -> float:
        """The log-density that few draws of what is densest at this point (d,) are below."""
        z = (point[None] - self.center) / self.scale
        best = max(self.summits, key=lambda each: float(each.log_density(z)[0]), default=None)
        at_summit = -np.inf if best is None else float(best.log_density(z)[0])
        at_fit = -np.inf
        if self.density is not None:
            at_fit = self.archive.log_evidence + float(self.density.log_prob(point[None])[0])
        if best is None or at_fit > at_summit:
            weights = normalize(self.archive.log_weights)
            inside = weights > 0
            return float(
                np.quantile(self.archive.log_prob[inside], _RARE, weights=weights[inside], method="inverted_cdf")
            )
        half = 0.5 * len(point)
        return best.log_prob - half - _DEVIATIONS * float(np.sqrt(half))

    def compare(self, min_excess: float) -> tuple[Array, Mask, Mask]:
        """The excess of all points of the archive, whether it is much, and whether they are far less dense.

        Of a point that is far less dense nothing can be said: it may be on the slopes of a mode that is not known.
        """
        log_prob = self.archive.log_prob
        excess, inside = self.excess(self.archive.points, log_prob), np.isfinite(log_prob)
        distance = np.where(inside, self.highest - log_prob, 0.0)
        is_above = excess > min_excess + _SLACK * distance
        is_below = excess < -(min_excess + _SLACK_BELOW * distance)
        return excess, is_above & inside, is_below & inside
