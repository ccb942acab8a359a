r"""The search for missed mass: where the target is much denser than anything that was fitted."""

from __future__ import annotations

import numpy as np

from steinbox.archive_sampler.ledger import Ledger
from steinbox.gaussian import Gaussian
from steinbox.initial import Initial
from steinbox.mixtures import GaussianMixture
from steinbox.proposals.mixture_fit import WeightedPoints, fit_mixture
from steinbox.proposals.warped_mixture import WarpedMixture
from steinbox.types import Array
from steinbox.weights import effective_sample_size, normalize, temper

_SURPRISE = 5.0  # nats: how much denser than fitted counts as missed
_FEWEST = 5


def wide(initial: Initial, rng: np.random.Generator) -> GaussianMixture:
    """Where a search starts: a Gaussian twice as wide as the initial distribution."""
    draws = initial.sample(1000, rng)
    return GaussianMixture([Gaussian(draws.mean(axis=0), cov=4 * np.atleast_2d(np.cov(draws.T)))])


def missed(ledger: Ledger, fitted: WarpedMixture) -> Array:
    r"""Which points are surprises: :math:`\log p - \log(\hat Z q) > 5`."""
    surprise = ledger.log_prob - ledger.log_evidence - fitted.log_prob(ledger.points)
    return np.asarray(surprise > _SURPRISE)


def surprising_proposal(
    ledger: Ledger, surprises: Array, rng: np.random.Generator
) -> tuple[GaussianMixture, float] | None:
    """A Gaussian fitted to the surprises alone, and the power their weights were tempered with to fit it.

    None if there are too few to go on.
    """
    rows = np.flatnonzero(surprises & np.isfinite(ledger.log_prob))
    if len(rows) < _FEWEST:
        return None
    log_weights = ledger.log_weights[rows]
    log_weights = np.maximum(log_weights, log_weights.max() - 1e4)
    wanted = max(_FEWEST, min(3 * ledger.points.shape[1], 0.5 * len(rows)))
    power = temper(log_weights, wanted)
    weights = normalize(power * log_weights)
    sample = WeightedPoints(ledger.points[rows], weights, effective_sample_size(weights))
    return fit_mixture(sample, 1, rng), power


def share(ledger: Ledger, surprises: Array) -> float:
    """How much of all weight the surprises hold."""
    return float(normalize(ledger.log_weights)[surprises].sum())
