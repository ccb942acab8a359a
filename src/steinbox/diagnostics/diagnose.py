"""All diagnostics of a weighted sample together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, default_errstate
from steinbox.common.tables import html_paragraphs
from steinbox.diagnostics.discrepancy import Discrepancy
from steinbox.diagnostics.goodness_of_fit import GoodnessOfFit, fit_test
from steinbox.diagnostics.ksd import stein_discrepancy
from steinbox.diagnostics.spread import stein_spread
from steinbox.diagnostics.stein_sample import Metric, make_stein_sample
from steinbox.numerics.weights import effective_sample_size, systematic_resample

_MAX_POINTS = 2000  # beyond, the sample is resampled: time grows as the cube
_NUM_BOOTSTRAP = 1000


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Stein diagnostics of a weighted sample, from its log-densities alone; print it.

    Attributes
    ----------
    num_points : int
        Different points of positive weight, which the diagnostics are of.
    num_without_weight : int
        Points of weight zero, which are left out; most methods give it to points outside the support.
    effective_sample_size : float
        Of the sample's own weights.
    gf_ksd : Discrepancy
        Its gradient-free Stein discrepancy from the target.
    goodness_of_fit : GoodnessOfFit
        The test of whether it could be an independent sample of the target.
    spread, spread_error : (d,) arrays
        By Stein's identity (:mod:`steinbox.diagnostics.spread`), one where it is right: if the target is Gaussian, the
        variance of the points over the target's, and its standard error for independent points.
    """

    num_points: int
    num_without_weight: int
    effective_sample_size: float
    gf_ksd: Discrepancy
    goodness_of_fit: GoodnessOfFit
    spread: Array
    spread_error: Array

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons not to trust the numbers."""
        return self.goodness_of_fit.warnings

    def __str__(self) -> str:
        left_out = f", {self.num_without_weight} without weight left out" if self.num_without_weight else ""
        return (
            f"{self.num_points} points with an effective sample size of {self.effective_sample_size:.4g}{left_out}; "
            f"gradient-free Stein discrepancy {self.gf_ksd.value:.3g}. Spread by Stein's identity (1 if it is right, "
            f"less if it is too small): {self.spread.min():.2f} to {self.spread.max():.2f}. {self.goodness_of_fit}"
        )

    def _repr_html_(self) -> str:
        return html_paragraphs([str(self)])


@default_errstate()
def diagnose(points: Array, log_prob: Array, weights: Array, rng: int | np.random.Generator | None) -> Diagnostics:
    """Diagnose a weighted sample: copies are merged, and more than 2,000 points are resampled."""
    rng = np.random.default_rng(rng)
    num_points, counts = len(points), weights > 0
    points, log_prob, weights = _merge_copies(points[counts], log_prob[counts], weights[counts])
    if len(points) < 3:
        raise ValueError(f"expected at least 3 different particles of positive weight to diagnose, got {len(points)}")
    size = effective_sample_size(weights)
    if len(points) > _MAX_POINTS:
        kept = systematic_resample(weights / weights.sum(), _MAX_POINTS, rng)
        points, log_prob, weights = _merge_copies(points[kept], log_prob[kept], np.ones(_MAX_POINTS))
    sample = make_stein_sample(points, log_prob, weights=weights)
    spread, spread_error = stein_spread(sample.points, sample.weights, sample.score)
    return Diagnostics(
        num_points=len(points),
        num_without_weight=num_points - int(counts.sum()),
        effective_sample_size=size,
        gf_ksd=stein_discrepancy(sample, Metric()),
        goodness_of_fit=fit_test(sample, Metric(), _NUM_BOOTSTRAP, 1.0, rng),
        spread=spread,
        spread_error=spread_error,
    )


def _merge_copies(points: Array, log_prob: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Each point once, with the weight of all its copies."""
    _, first, copies = np.unique(points, axis=0, return_index=True, return_inverse=True)
    merged = np.zeros(len(points))
    np.add.at(merged, first[copies.reshape(-1)], weights)
    kept = np.sort(first)
    return points[kept], log_prob[kept], merged[kept]
