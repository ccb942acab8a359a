"""Reasons not to trust a run's particles, said in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.tails import TAIL_SHARE, find_thinnest_tail
from steinbox.numerics.weights import effective_sample_size
from steinbox.run.loop import Outcome
from steinbox.run.status import Status
from steinbox.samplers.base import WeightedSample

MIN_SHARE_INSIDE = 0.9  # of the particles: with fewer inside the support, the others are missed
MIN_WORTH = 0.05  # independent draws per weighted particle: below, a few of them are the answer
MAX_FAILED = 0.01  # of the last 200 evaluations
MAX_RISE = 0.2  # of the log-densities' standard deviation: what the last fifth of a run may add to their mean

_ENDED_BY_FAILURES = (Status.TOO_MANY_FAILURES, Status.TARGET_FAILED, Status.SUPPORT_LOST)


def collect_warnings(outcome: Outcome, names: Sequence[str]) -> Iterator[str]:
    """One sentence for every reason not to trust the particles."""
    sample = outcome.sample
    if outcome.reason:
        yield outcome.reason
    if outcome.status in _ENDED_BY_FAILURES:
        yield "Failures ended the run before its budget was used: the particles may not have reached the target yet."
    yield from sample.warnings
    if sample.pool is not None and not sample.warnings:
        yield from _warn_of_tails(sample.pool, names)
    num_particles, dimension = sample.particles.shape
    inside = np.isfinite(sample.log_prob)
    num_inside = int(inside.sum())
    if num_inside < MIN_SHARE_INSIDE * num_particles:
        yield f"Only {num_inside} of {num_particles} particles are inside the support of the target."
    size = effective_sample_size(sample.weights)
    if sample.pool is None and size < MIN_WORTH * num_inside:
        yield (
            f"The weights of the {num_inside:,} particles are so uneven that they amount to {size:.2g} independent "
            "draws. Start closer to the target, or use another method."
        )
    if num_particles <= dimension:
        yield f"{num_particles} particles for {dimension} parameters are too few to span all directions; use more."
    means = np.array([info["mean_log_prob"] for info in outcome.trace], dtype=np.float64)
    if sample.pool is None and num_inside > 1 and _is_rising(means, sample.log_prob):
        yield (
            "The mean log-density was still rising at the end: the particles have not reached the target yet. "
            "Allow more evaluations."
        )


def warn_of_failures(share: float) -> Iterator[str]:
    """What is wrong if so many of the last evaluations failed where the density is not zero."""
    if share > MAX_FAILED:
        yield (
            f"{share:.1%} of the last evaluations failed. If they fail in one region, the particles say nothing of it, "
            f"and the log-evidence may be {-np.log1p(-min(share, 0.99)):.2g} too high. Return -inf where the density "
            "is zero; see result.failures for the rest."
        )


def widen_by_failures(outcome: Outcome, share: float) -> Outcome:
    """The outcome with an error of the log-evidence that allows for failures in one region."""
    error = float(np.hypot(outcome.sample.log_evidence_error, -np.log1p(-min(share, 0.99))))
    return replace(outcome, sample=replace(outcome.sample, log_evidence_error=error))


def _warn_of_tails(pool: WeightedSample, names: Sequence[str]) -> Iterator[str]:
    tail = find_thinnest_tail(pool.points, pool.weights)
    if tail.is_thin:
        end = "upper" if tail.is_upper else "lower"
        where = (
            f"The {end} {TAIL_SHARE:.0%} of {names[tail.axis]}"
            if tail.axis is not None
            else (f"{TAIL_SHARE:.0%} of the weight, at one end of a direction that several parameters share,")
        )
        yield (
            f"{where} rest on {tail.num_draws:.0f} independent draws, where {tail.usual:.0f} would be usual: that tail "
            "may be cut off, and the standard deviation too small. Allow more evaluations, or change the parameters (a "
            "hierarchical model can be written non-centered)."
        )


def _is_rising(mean_log_prob: Array, log_prob: Array) -> bool:
    """Whether the last fifth of the run raised the mean by more than a fifth of the particles' own spread.

    With few particles also by more than chance: two standard errors of the difference of two means.
    """
    fifth, inside = len(mean_log_prob) // 5, np.isfinite(log_prob)
    allowed = max(MAX_RISE, 2 * np.sqrt(2 / inside.sum())) * float(log_prob[inside].std())
    return fifth > 0 and bool(mean_log_prob[-1] - mean_log_prob[-1 - fifth] > allowed)
