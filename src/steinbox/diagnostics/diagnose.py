"""All diagnostics of a weighted sample together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from steinbox.common.arrays import Array, default_errstate
from steinbox.common.tables import html_paragraphs
from steinbox.diagnostics.discrepancy import Discrepancy
from steinbox.diagnostics.goodness_of_fit import GoodnessOfFit, fit_test
from steinbox.diagnostics.ksd import stein_discrepancy
from steinbox.diagnostics.spread import mean_spread, stein_spread
from steinbox.diagnostics.stein_sample import Metric, make_stein_sample
from steinbox.numerics.weights import effective_sample_size, systematic_resample

_MAX_POINTS = 2000  # beyond, the sample is resampled: time grows as the cube
_NUM_BOOTSTRAP = 1000
_LEVEL = 0.05  # at which the spread is said to differ, as the test of fit


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
    mean_spread, mean_spread_error : float
        The same averaged over coordinates, which is known better.
    """

    num_points: int
    num_without_weight: int
    effective_sample_size: float
    gf_ksd: Discrepancy
    goodness_of_fit: GoodnessOfFit
    spread: Array
    spread_error: Array
    mean_spread: float
    mean_spread_error: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons not to trust the numbers."""
        return self.goodness_of_fit.warnings

    @property
    def spread_contradiction(self) -> str | None:
        """In words, how the spread differs from the target's by more than chance explains, or None."""
        deviations = (self.spread - 1) / self.spread_error
        worst = int(np.abs(deviations).argmax())
        mean_deviation = (self.mean_spread - 1) / self.mean_spread_error
        if abs(mean_deviation) > _max_deviation_by_chance(1):
            where, ratio, deviation = "on average over coordinates", self.mean_spread, mean_deviation
        elif abs(deviations[worst]) > _max_deviation_by_chance(len(deviations)):
            where, ratio, deviation = f"for coordinate {worst}", self.spread[worst], float(deviations[worst])
        else:
            return None
        return (
            f"the points are too {'narrow' if deviation < 0 else 'wide'}: {ratio:.2f} {where}, "
            f"which differs from 1 by {abs(deviation):.1f} standard errors of independent draws"
        )

    def __str__(self) -> str:
        left_out = f", {self.num_without_weight} without weight left out" if self.num_without_weight else ""
        return (
            f"{self.num_points} points with an effective sample size of {self.effective_sample_size:.4g}{left_out}; "
            f"gradient-free Stein discrepancy {self.gf_ksd.value:.3g}. {self.goodness_of_fit} {self._spread_in_words()}"
        )

    def _spread_in_words(self) -> str:
        found = self.spread_contradiction
        verdict = " It agrees: " if self.goodness_of_fit.rejects() else " This contradicts the test: "
        return (
            "Spread by Stein's identity (1 if it is right, less if it is too small): "
            f"{self.spread.min():.2f} to {self.spread.max():.2f}.{verdict + found + '.' if found else ''}"
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
    average, average_error = mean_spread(sample.points, sample.weights, sample.score)
    return Diagnostics(
        num_points=len(points),
        num_without_weight=num_points - int(counts.sum()),
        effective_sample_size=size,
        gf_ksd=stein_discrepancy(sample, Metric()),
        goodness_of_fit=fit_test(sample, Metric(), _NUM_BOOTSTRAP, 1.0, rng),
        spread=spread,
        spread_error=spread_error,
        mean_spread=average,
        mean_spread_error=average_error,
    )


def _max_deviation_by_chance(num_tried: int) -> float:
    """Standard errors that the largest of so many deviations exceeds in one of twenty good samples (Bonferroni)."""
    return float(-scipy.special.ndtri(_LEVEL / (2 * num_tried)))


def _merge_copies(points: Array, log_prob: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Each point once, with the weight of all its copies."""
    _, first, copies = np.unique(points, axis=0, return_index=True, return_inverse=True)
    merged = np.zeros(len(points))
    np.add.at(merged, first[copies.reshape(-1)], weights)
    kept = np.sort(first)
    return points[kept], log_prob[kept], merged[kept]
