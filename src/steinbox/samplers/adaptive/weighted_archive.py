"""The ledger: every point, its log-density, and how densely it was proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.common.serialization import serializable
from steinbox.densities.density import Density
from steinbox.densities.fitting.weighted_points import WeightedPoints
from steinbox.densities.initial import Initial
from steinbox.numerics.herding import heaviest
from steinbox.numerics.weights import effective_sample_size, log_sum_exp, normalize
from steinbox.samplers.adaptive.surrogate_density import SurrogateDensity

Proposal: TypeAlias = Density | SurrogateDensity | None
"""What points were drawn from; None is the initial distribution."""

_FLOOR = 1e4  # nats below the heaviest: what a point outside the support counts as, if none inside is lighter


@serializable("weighted-archive")
@dataclass(frozen=True, eq=False)
class WeightedArchive:
    r"""Points with their deterministic-mixture weights (Owen & Zhou, 2000; Cornuet et al., 2012),

    .. math:: w_i = p(x_i) \Big/ \sum_j n_j q_j(x_i),

    over all proposals :math:`q_j` and the number :math:`n_j` of points drawn from each. They sum to an estimate of
    :math:`\int p`, unbiased if no proposal depended on the points.
    """

    points: Array
    log_prob: Array
    log_proposed: Array
    proposals: tuple[Proposal, ...]
    counts: tuple[int, ...]

    @classmethod
    def empty(cls, dimension: int) -> WeightedArchive:
        """No point yet."""
        return cls(np.empty((0, dimension)), np.empty(0), np.empty(0), (), ())

    def extended(
        self, points: Array, log_prob: Array, proposals: Sequence[Proposal], counts: Sequence[int], initial: Initial
    ) -> WeightedArchive:
        """With new points, so many of each new proposal; all densities are brought up to date."""
        old, new = self.log_proposed, self.log_density(points, initial)
        for proposal, count in zip(proposals, counts, strict=True):
            new = np.logaddexp(new, log_share(proposal, count, points, initial))
            old = np.logaddexp(old, log_share(proposal, count, self.points, initial))
        return WeightedArchive(
            np.concatenate([self.points, points]),
            np.concatenate([self.log_prob, log_prob]),
            np.concatenate([old, new]),
            self.proposals + tuple(proposals),
            self.counts + tuple(int(count) for count in counts),
        )

    def log_density(self, points: Array, initial: Initial) -> Array:
        r"""The logarithm of :math:`\sum_j n_j q_j` at any points."""
        total = np.full(len(points), -np.inf)
        for proposal, count in zip(self.proposals, self.counts, strict=True):
            total = np.logaddexp(total, log_share(proposal, count, points, initial))
        return total

    def before(self, share: float, initial: Initial) -> WeightedArchive:
        """As it was when there were about this share of the points, after the draws of a proposal."""
        num_proposals = max(1, int((np.cumsum(self.counts) <= share * len(self)).sum()))
        proposals, counts = self.proposals[:num_proposals], self.counts[:num_proposals]
        points, log_prob = self.points[: sum(counts)], self.log_prob[: sum(counts)]
        ledger = WeightedArchive(points, log_prob, np.zeros(len(points)), proposals, counts)
        return replace(ledger, log_proposed=ledger.log_density(points, initial))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def is_of_initial(self) -> Mask:
        """Which points were drawn of the initial distribution."""
        return np.repeat([proposal is None for proposal in self.proposals], self.counts)

    @property
    def log_weights(self) -> Array:
        """The logarithms of the weights; −inf outside the support."""
        return self.log_prob - self.log_proposed

    @property
    def log_evidence(self) -> float:
        r"""The estimate of :math:`\log \int p`."""
        return float(log_sum_exp(self.log_weights))

    @property
    def effective_sample_size(self) -> float:
        """How many independent draws the weighted points are worth."""
        return effective_sample_size(normalize(self.log_weights))


def log_share(proposal: Proposal, count: int, points: Array, initial: Initial) -> Array:
    """The logarithm of one proposal's part of the density."""
    if count == 0:
        return np.full(len(points), -np.inf)
    return np.asarray(np.log(count) + (initial if proposal is None else proposal).log_prob(points))


def floored(log_weights: Array) -> Array:
    """Log-weights that can be tempered: none of them infinite, and those that were not as they are."""
    lowest = np.min(log_weights, where=np.isfinite(log_weights), initial=log_weights.max() - _FLOOR)
    return np.asarray(np.maximum(log_weights, lowest))


def weighted_sample(points: Array, log_weights: Array, power: float) -> WeightedPoints:
    """The points that hold nearly all of the tempered weight."""
    weights = normalize(power * floored(log_weights))
    pool = heaviest(weights)
    return WeightedPoints(points[pool], weights[pool] / weights[pool].sum(), effective_sample_size(weights))
