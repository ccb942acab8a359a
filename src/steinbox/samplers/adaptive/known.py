r"""What is known of a target, and which points it does not explain.

The fitted family :math:`\hat q`, once weights are even, and the Gaussians :math:`N_k` at the tops of climbs, with their
heights, predict a log-density for every point. The excess of a point is

.. math:: e(x) = \log p(x) - \max\big(\log \hat Z + \log \hat q(x),\; \max_k \log N_k(x)\big).

An unknown mode shows far from its top, in the excess of draws that are nearest to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.common.serialization import serializable
from steinbox.densities.density import Density
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive

_SLACK = 0.05  # of the distance to the top, in nats: far out, what is known is not known better than that
_DEVIATIONS = 2.0  # of a Gaussian's log-density, below its mean, d / 2 below the top: a climb goes on from there
_SLACK_BELOW = 0.3  # the same where a point is less dense, since proposals err on the wide side


def is_small(excess: Array, distance: Array, min_excess: float) -> Mask:
    """Of points at these distances from the top, in nats, whether they are as dense as predicted."""
    return np.asarray(np.abs(excess) < min_excess + _SLACK * np.maximum(distance, 0.0))


@serializable("adaptive-summit")
@dataclass(frozen=True, eq=False)
class Summit:
    """A top, in units of the start: where, how high, a covariance, and whether it is that of a mode.

    Otherwise a valley separates it from no mode, or it has next to no mass: the climb may have come to rest on a slope.
    """

    point: Array
    log_prob: float
    covariance: Array
    is_mode: bool = False

    @property
    def log_mass(self) -> float:
        """Of the Gaussian of this height, in units of the start (Laplace's approximation)."""
        return self.log_prob + 0.5 * float(np.linalg.slogdet(2 * np.pi * self.covariance)[1])

    @property
    def typical_log_prob(self) -> float:
        """The log-density that few draws of the Gaussian are below."""
        half = 0.5 * len(self.point)
        return self.log_prob - half - _DEVIATIONS * float(np.sqrt(half))

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
        with np.errstate(invalid="ignore"):
            excess = log_prob - self._predict(points).max(axis=0)
        return np.where(np.isfinite(log_prob), excess, -np.inf)

    def agrees(self, points: Array, log_prob: Array, min_excess: float) -> Mask:
        """Of every point, whether it is as dense as it should be."""
        return is_small(self.excess(points, log_prob), self.highest - log_prob, min_excess)

    def explains(self, points: Array, log_prob: Array, min_excess: float) -> Mask:
        """Of every point, whether it is also where draws of what is known are.

        Farther out, two modes may be as dense as each other.
        """
        is_typical = log_prob > self._typical_levels[self._predict(points).argmax(axis=0)]
        return np.asarray(is_typical & self.agrees(points, log_prob, min_excess))

    def _predict(self, points: Array) -> Array:
        """The log-densities that each summit, and the fit, predict (number of them, n); the first predicts nothing."""
        z = (points - self.center) / self.scale
        known = [np.full(len(points), -np.inf), *(summit.log_density(z) for summit in self.summits)]
        if self.density is not None:
            known.append(self.archive.log_evidence + self.density.log_prob(points))
        return np.stack(known)

    @cached_property
    def _typical_levels(self) -> Array:
        """For each of them, the log-density that few of its draws are below."""
        levels = [np.inf, *(summit.typical_log_prob for summit in self.summits)]
        if self.density is not None:
            levels.append(self.archive.lowest_typical_log_prob)
        return np.array(levels)

    def is_open(self, points: Array, log_prob: Array, min_excess: float) -> Mask:
        """Of every point inside the support, whether it is denser than what is known predicts, or far less dense.

        Of a point that is far less dense nothing can be said: it may be on the slopes of a mode that is not known.
        """
        excess, distance = self.excess(points, log_prob), self.highest - log_prob
        is_above = excess > min_excess + _SLACK * distance
        return np.asarray(is_above | (excess < -(min_excess + _SLACK_BELOW * distance)))

    def unexplained_part(self, points: Array, log_prob: Array) -> Array:
        """Of the distance to the top, in nats; below zero if a point is less dense than what is known predicts."""
        excess, distance = self.excess(points, log_prob), self.highest - log_prob + 1
        return np.asarray(np.sign(excess) * (1 - distance / (distance + np.abs(excess))))
