"""Is this sample any good? The tools of this room, asked together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.diagnostics.discrepancy import Discrepancy
from steinbox.diagnostics.goodness_of_fit import GoodnessOfFit, fit_test
from steinbox.diagnostics.ksd import discrepancy
from steinbox.diagnostics.stein_sample import Metric, weigh
from steinbox.numerics.weights import effective_sample_size, systematic_resample

_MAX_POINTS = 2000


@dataclass(frozen=True)
class Diagnostics:
    """What the Stein tools say about a weighted sample, from its log-densities alone; print it.

    Attributes
    ----------
    num_points : int
        Different points of positive weight that were looked at.
    num_without_weight : int
        Points of weight zero, outside the support for most methods, which were not looked at.
    effective_sample_size : float
        Of the sample's own weights.
    gf_ksd : Discrepancy
        Its gradient-free Stein discrepancy from the target.
    goodness_of_fit : GoodnessOfFit
        The test of whether it could be an independent sample of the target.
    """

    num_points: int
    num_without_weight: int
    effective_sample_size: float
    gf_ksd: Discrepancy
    goodness_of_fit: GoodnessOfFit

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the numbers doubtful."""
        return self.goodness_of_fit.warnings

    def __str__(self) -> str:
        leave_one_out = f", {self.num_without_weight} without weight left out" if self.num_without_weight else ""
        return (
            f"{self.num_points} points worth {self.effective_sample_size:.4g} by their weights{leave_one_out}; "
            f"gradient-free Stein discrepancy {self.gf_ksd.value:.3g}. {self.goodness_of_fit}"
        )


def diagnose(x: Array, log_prob: Array, weights: Array, seed: int) -> Diagnostics:
    """Look at a weighted sample: copies are taken together, and very many points are resampled to fewer."""
    rng = np.random.default_rng(seed)
    num_points, counts = len(x), weights > 0
    x, log_prob, weights = _without_copies(x[counts], log_prob[counts], weights[counts])
    if len(x) < 3:
        raise ValueError(f"diagnostics need at least 3 different particles of positive weight, got {len(x)}")
    size = effective_sample_size(weights)
    if len(x) > _MAX_POINTS:
        kept = systematic_resample(weights / weights.sum(), _MAX_POINTS, rng)
        x, log_prob, weights = _without_copies(x[kept], log_prob[kept], np.ones(_MAX_POINTS))
    sample = weigh(x, log_prob, weights=weights)
    return Diagnostics(
        num_points=len(x),
        num_without_weight=num_points - int(counts.sum()),
        effective_sample_size=size,
        gf_ksd=discrepancy(sample, Metric()),
        goodness_of_fit=fit_test(sample, Metric(), 1000, 1.0, rng),
    )


def _without_copies(x: Array, log_prob: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Each point once, with the weight of all its copies."""
    _, first, copies = np.unique(x, axis=0, return_index=True, return_inverse=True)
    merged = np.zeros(len(x))
    np.add.at(merged, first[copies.reshape(-1)], weights)
    kept = np.sort(first)
    return x[kept], log_prob[kept], merged[kept]
