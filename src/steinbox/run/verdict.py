"""Can this result be trusted? What its status, warnings and diagnostics say, as words with a level each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from steinbox.report import Finding, Level, Verdict, worst_level
from steinbox.run.status import Status
from steinbox.samplers.adaptive.tuning import Tuning

if TYPE_CHECKING:
    from steinbox.diagnostics import Diagnostics
    from steinbox.run.result import Result

MIN_DRAWS = 10.0  # independent draws: with fewer, a mean is known to a third of a standard deviation
MIN_DRAWS_FOR_CARE = 50.0  # the same: a seventh
MIN_DRAWS_WITH_HEAVY_TAIL = 2.0  # per particle: then the weights are fine whatever their tail
MAX_FAILURE_SHARE = 0.05  # of the evaluations
LEVEL_OF_TEST = 0.01
MAX_SPREAD_FACTOR = 2.0  # of the particles' variance over the target's, or of its inverse
MIN_SPREAD_DEVIATIONS = 4.0  # standard errors by which the spread must differ from one

_ENDED_BY_FAILURES = (Status.TARGET_FAILED, Status.SUPPORT_LOST, Status.TOO_MANY_FAILURES, Status.STALLED)
_HEADLINES = {
    Level.GOOD: "No problems were found.",
    Level.CAUTION: "Use this result with care.",
    Level.BAD: "Do not trust these particles.",
}
_COMPARE = (
    "Run it again with another seed and compare: sb.compare([result, other]). No diagnostic can see a mode that no "
    "evaluation came near, but several runs from a wide start may find it."
)


def judge(result: Result, diagnostics: Diagnostics | None) -> Verdict:
    """The verdict; ``diagnostics`` is None if there are too few particles to be judged.

    Examples
    --------
    >>> import steinbox as sb
    >>> result = sb.sample(sb.Gaussian([0.0], std=1).log_prob, sb.Gaussian([0.0], std=3), vectorized=True, seed=0)
    >>> judge(result, result.diagnostics()).headline
    'No problems were found.'
    """
    of_sampling = (
        *_status_findings(result),
        *_weight_findings(result),
        *_test_findings(diagnostics),
        *_coverage_findings(result),
    )
    findings = (*of_sampling, *_failure_findings(result))
    needs_more = worst_level(of_sampling) is not Level.GOOD
    return Verdict(_HEADLINES[worst_level(findings)], findings, tuple(_advice(result, needs_more=needs_more)))


def judge_unfinished(result: Result) -> Verdict:
    """What can be said of a run that is still going."""
    findings = (Finding(Level.NOTE, str(Status.RUNNING)), *_failure_findings(result))
    advice = (
        "Wait: everything below is provisional and changes with every iteration.",
        "Stop it if this is enough, or if something is wrong: as after Ctrl-C, you get the particles of the last "
        "complete iteration.",
    )
    return Verdict("Not yet: the run is still going.", findings, advice)


def has_pool(result: Result) -> bool:
    """Whether the particles were chosen from more points than they are."""
    return len(result.pool) != len(result.particles) or not np.array_equal(result.pool, result.particles)


def is_equally_weighted(result: Result) -> bool:
    """Whether there are only the particles, with one weight: then their effective sample size is their number."""
    inside = result.weights[result.weights > 0]
    return not has_pool(result) and inside.size > 0 and bool(np.ptp(inside) < 1e-9)


def _status_findings(result: Result) -> Iterator[Finding]:
    if result.status in _ENDED_BY_FAILURES or not (result.weights > 0).any():
        yield Finding(Level.BAD, str(result.status))
    else:
        yield Finding(Level.GOOD if result.status.is_complete else Level.CAUTION, str(result.status))
    for warning in result.warnings:
        yield Finding(Level.CAUTION, warning)


def _weight_findings(result: Result) -> Iterator[Finding]:
    size, num_particles = result.effective_sample_size, len(result.particles)
    if is_equally_weighted(result):
        yield Finding(
            Level.NOTE,
            f"The {num_particles:,} particles have equal weights, so the weights say nothing about their quality: that "
            "depends on whether they have reached the target.",
        )
        return
    is_too_few = bool(result.warnings) and size < Tuning().min_draws_per_particle * num_particles
    error = f"a mean is known to about {1 / np.sqrt(max(size, 1)):.2g} standard deviations"
    text = f"The {len(result.pool):,} weighted points amount to {size:,.0f} independent draws: {error}."
    if size < MIN_DRAWS or is_too_few:
        yield Finding(Level.BAD, text)
    else:
        yield Finding(Level.CAUTION if size < MIN_DRAWS_FOR_CARE else Level.GOOD, text)
    yield from _tail_findings(result.pareto_shape, size / num_particles)


def _tail_findings(shape: float, draws_per_particle: float) -> Iterator[Finding]:
    if np.isnan(shape):
        return
    limit = Tuning().max_pareto_shape
    if shape <= limit:
        yield Finding(
            Level.GOOD, f"The tail of the weights is light: its Pareto shape is {shape:.2f}, and up to {limit} is fine."
        )
    elif draws_per_particle >= MIN_DRAWS_WITH_HEAVY_TAIL:
        yield Finding(
            Level.NOTE,
            f"The largest weights have a heavy tail (a Pareto shape of {shape:.2f}, above {limit}), but there are "
            f"{draws_per_particle:.0f} independent draws for every particle, so no small group dominates.",
        )
    else:
        yield Finding(
            Level.CAUTION,
            f"A few weights dominate: their tail has a Pareto shape of {shape:.2f}, above {limit}, so errors may be "
            "larger than reported.",
        )


def _test_findings(diagnostics: Diagnostics | None) -> Iterator[Finding]:
    if diagnostics is None:
        yield Finding(Level.BAD, "There are fewer than three different particles inside the support.")
        return
    test = diagnostics.goodness_of_fit
    if diagnostics.warnings:
        yield Finding(Level.NOTE, f"The test of fit can say little here: {diagnostics.warnings[0]}")
    elif test.rejects(LEVEL_OF_TEST):
        yield Finding(
            Level.CAUTION,
            f"A test of fit, from the log-densities alone, rejects the particles (p = {test.p_value:.2g}). It is right "
            "unless the density ends abruptly at an edge that was not given as a bound.",
        )
    else:
        yield Finding(Level.GOOD, f"A test of fit finds no difference from the target (p = {test.p_value:.2g}).")
    yield from _spread_findings(diagnostics)


def _spread_findings(diagnostics: Diagnostics) -> Iterator[Finding]:
    spread, error = diagnostics.spread, diagnostics.spread_error
    is_sure = np.abs(spread - 1) > MIN_SPREAD_DEVIATIONS * error
    too_narrow = is_sure & (spread < 1 / MAX_SPREAD_FACTOR)
    too_wide = is_sure & (spread > MAX_SPREAD_FACTOR)
    for wrong, word in ((too_narrow, "narrow"), (too_wide, "wide")):
        if wrong.any():
            yield Finding(
                Level.CAUTION,
                f"By Stein's identity, the particles are too {word} in {int(wrong.sum())} of {len(spread)} free "
                f"coordinates: their variance is {spread[wrong].min():.2g} to {spread[wrong].max():.2g} times that of "
                "the target.",
            )


def _coverage_findings(result: Result) -> Iterator[Finding]:
    coverage = result.coverage
    if coverage is None:
        yield Finding(Level.NOTE, "There was no search for other modes: some may have been missed.")
        return
    climbs = f"{coverage.num_climbs} climbs in search of other modes found {coverage.num_finds or 'none'}."
    searched = (
        f"{climbs if coverage.num_climbs else 'No climbs were made in search of other modes.'} About "
        f"{coverage.unseen:.1%} of the places where the run may start, and {coverage.upper:.1%} at most, are expected "
        "to lead to a mode that was missed."
    )
    yield Finding(Level.GOOD if coverage.unseen <= Tuning().max_unseen else Level.NOTE, searched)


def _failure_findings(result: Result) -> Iterator[Finding]:
    if result.num_failures:
        share = result.num_failures / max(result.num_evals, 1)
        yield Finding(
            Level.CAUTION if share > MAX_FAILURE_SHARE else Level.NOTE,
            f"{result.num_failures:,} of {result.num_evals:,} evaluations failed ({share:.2%}). If they fail in "
            "one region, that region is missing from the particles.",
        )


def _advice(result: Result, *, needs_more: bool) -> Iterator[str]:
    if result.num_failures:
        yield (
            "Look at the failures below. Where the density is zero, return -inf instead of raising: that does not "
            "count as a failure."
        )
    if result.status in (Status.TIME_SPENT, Status.INTERRUPTED, Status.TERMINATED):
        yield "Continue it: with checkpoint= the same call resumes where the run ended."
    if needs_more:
        budget = result.config.get("max_evals")
        yield f"Allow more evaluations{f' than {budget:,}' if isinstance(budget, int) else ''}: max_evals=."
        yield "Start closer to the target or wider around it, and give bounds= where the density ends."
        if not has_pool(result):
            yield "Try the default method, which weights every evaluation: leave out method=."
    yield _COMPARE
