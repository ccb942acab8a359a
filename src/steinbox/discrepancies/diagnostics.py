"""Is this sample any good? The tools of this room, asked together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.discrepancies.discrepancy import Discrepancy
from steinbox.discrepancies.goodness_of_fit import GoodnessOfFit, fit_test
from steinbox.discrepancies.ksd import discrepancy
from steinbox.discrepancies.weighed import Metric, weigh
from steinbox.types import Array
from steinbox.weights import effective_sample_size

_MAX_POINTS = 2000


@dataclass(frozen=True)
class Diagnostics:
    """What the Stein tools say about a weighted sample, from its log-densities alone; print it.

    Attributes
    ----------
    num_points : int
        Different points of positive weight that were looked at.
    effective_sample_size : float
        Of the sample's own weights.
    gf_ksd : Discrepancy
        Its gradient-free Stein discrepancy from the target.
    goodness_of_fit : GoodnessOfFit
        The test of whether it could be an independent sample of the target.
    """

    num_points: int
    effective_sample_size: float
    gf_ksd: Discrepancy
    goodness_of_fit: GoodnessOfFit

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the numbers doubtful."""
        return self.goodness_of_fit.warnings

    def __str__(self) -> str:
        return (
            f"{self.num_points} points worth {self.effective_sample_size:.4g} by their weights; "
            f"gradient-free Stein discrepancy {self.gf_ksd.value:.3g}. {self.goodness_of_fit}"
        )


def diagnose(x: Array, log_prob: Array, weights: Array, seed: int) -> Diagnostics:
    """Look at a weighted sample: copies are taken together, and of very many points an evenly spread part."""
    counts = weights > 0
    x, log_prob, weights = x[counts], log_prob[counts], weights[counts]
    _, first, copies = np.unique(x, axis=0, return_index=True, return_inverse=True)
    merged = np.zeros(len(x))
    np.add.at(merged, first[copies], weights)
    kept = np.sort(first)[:: -(-len(first) // _MAX_POINTS)]
    sample = weigh(x[kept], log_prob[kept], weights=merged[kept])
    return Diagnostics(
        num_points=len(sample.points),
        effective_sample_size=effective_sample_size(sample.sample_weights),
        gf_ksd=discrepancy(sample, Metric()),
        goodness_of_fit=fit_test(sample, Metric(), 1000, 1.0, np.random.default_rng(seed)),
    )
