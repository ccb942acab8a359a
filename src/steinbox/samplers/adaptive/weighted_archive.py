"""The weighted archive: every point, its log-density, and how densely it was proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.initial import Initial
from steinbox.numerics.herding import heaviest
from steinbox.numerics.tails import Tail, find_thinnest_tail
from steinbox.numerics.weights import effective_sample_size, log_sum_exp, normalize

_OUTSIDE = 1e4  # nats below the heaviest: the log-weight of a point outside the support, if none inside is lighter
_RARE = 0.05  # share of the weight on points that are less dense than is typical


class NormalizedDensity(Protocol):
    """What points were drawn from: a log-density with its normalizer."""

    def log_prob(self, points: Array, /) -> Array:
        """At the rows of ``points``, (n,)."""
        ...


@serializable("archive-source")
@dataclass(frozen=True, eq=False)
class Source:
    """Who proposed ``count`` points in a row, and the density they are draws of; None is the initial distribution.

    If it competes with others, ``step`` is the number of steps of the run that they all could learn from; 0 if not.
    """

    proposer: str
    density: NormalizedDensity | None
    count: int
    step: int = 0

    def log_share(self, points: Array, initial: Initial) -> Array:
        r"""The logarithm of :math:`n_j q_j` at the points."""
        if self.count == 0 or len(points) == 0:
            return np.full(len(points), -np.inf)
        density = initial if self.density is None else self.density
        return np.asarray(np.log(self.count) + density.log_prob(points))


@serializable("weighted-archive")
@dataclass(frozen=True, eq=False)
class WeightedArchive:
    r"""Points with their deterministic-mixture weights (Owen & Zhou, 2000; Cornuet et al., 2012),

    .. math:: w_i = p(x_i) \Big/ \sum_j n_j q_j(x_i),

    over all densities :math:`q_j` and the number :math:`n_j` of points drawn from each. They sum to an estimate of
    :math:`\int p`, unbiased if no proposal depended on the points.
    """

    points: Array
    log_prob: Array
    log_proposed: Array
    sources: tuple[Source, ...]

    @classmethod
    def empty(cls, dimension: int) -> WeightedArchive:
        """No point yet."""
        return cls(np.empty((0, dimension)), np.empty(0), np.empty(0), ())

    def extend(self, points: Array, log_prob: Array, sources: Sequence[Source], initial: Initial) -> WeightedArchive:
        """With new points, in the order of their sources; all densities are brought up to date."""
        old, new = self.log_proposed, self.log_density(points, initial)
        for source in sources:
            new = np.logaddexp(new, source.log_share(points, initial))
            old = np.logaddexp(old, source.log_share(self.points, initial))
        return WeightedArchive(
            np.concatenate([self.points, points]),
            np.concatenate([self.log_prob, log_prob]),
            np.concatenate([old, new]),
            (*self.sources, *sources),
        )

    def log_density(self, points: Array, initial: Initial) -> Array:
        r"""The logarithm of :math:`\sum_j n_j q_j` at any points."""
        total = np.full(len(points), -np.inf)
        for source in self.sources:
            total = np.logaddexp(total, source.log_share(points, initial))
        return total

    def before(self, fraction: float, initial: Initial) -> WeightedArchive:
        """As it was when there was about this fraction of the points, after the draws of a source."""
        ends = np.cumsum([source.count for source in self.sources])
        sources = self.sources[: max(1, int((ends <= fraction * len(self)).sum()))]
        num_points = sum(source.count for source in sources)
        points, log_prob = self.points[:num_points], self.log_prob[:num_points]
        earlier = WeightedArchive(points, log_prob, np.zeros(num_points), sources)
        return replace(earlier, log_proposed=earlier.log_density(points, initial))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return int(self.points.shape[1])

    def is_from(self, proposers: Sequence[str]) -> Mask:
        """Of every point, whether it is a draw of one of these proposers."""
        return np.repeat([each.proposer in proposers for each in self.sources], [each.count for each in self.sources])

    @property
    def num_inside(self) -> int:
        """Points inside the support."""
        return int(np.isfinite(self.log_prob).sum())

    @cached_property
    def log_weights(self) -> Array:
        """The logarithms of the weights; −inf outside the support."""
        return self.log_prob - self.log_proposed

    @cached_property
    def log_evidence(self) -> float:
        r"""The estimate of :math:`\log \int p`."""
        return float(log_sum_exp(self.log_weights))

    @cached_property
    def effective_sample_size(self) -> float:
        """How many independent draws the weighted points are worth."""
        return effective_sample_size(normalize(self.log_weights))

    @cached_property
    def thinnest_tail(self) -> Tail:
        """The one whose points are worth least."""
        return find_thinnest_tail(self.points, normalize(self.log_weights))

    @cached_property
    def lowest_typical_log_prob(self) -> float:
        """The log-density that few weighted points are below."""
        weights = normalize(self.log_weights)
        inside = weights > 0
        return float(np.quantile(self.log_prob[inside], _RARE, weights=weights[inside], method="inverted_cdf"))

    def tempered(self, power: float) -> WeightedPoints:
        r"""The points that hold nearly all of the weight :math:`w^a`, with these weights."""
        return temper_points(self.points, self.log_weights, power)


def temper_points(points: Array, log_weights: Array, power: float) -> WeightedPoints:
    """The points that hold nearly all of the tempered weight, with it."""
    weights = normalize(power * finite_log_weights(log_weights))
    pool = heaviest(weights)
    return WeightedPoints(points[pool], weights[pool] / weights[pool].sum(), effective_sample_size(weights))


def finite_log_weights(log_weights: Array) -> Array:
    """Log-weights that can be tempered: none of them infinite, and those that were not as they are."""
    lowest = np.min(log_weights, where=np.isfinite(log_weights), initial=log_weights.max() - _OUTSIDE)
    return np.asarray(np.maximum(log_weights, lowest))
