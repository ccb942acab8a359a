"""Why the particles may be wrong, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.densities.initial import Initial
from steinbox.numerics.weights import normalize, systematic_resample
from steinbox.samplers.adaptive.proposers import Climbs
from steinbox.samplers.adaptive.proposers.climbs import find_coverage
from steinbox.samplers.adaptive.proposers.surrogate_search import SurrogateAnswer
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.tuning import Tuning
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive

_MOVEMENTS = ((0.5, 2.0), (0.75, 1.0))  # since there was this fraction of the points: may move so many times as far
_LAST_REFERENCE = 0.75  # fraction of the points: a mode that was found until then was found in time
_EMBEDDING_VARIANCE = 0.63  # of one draw's kernel embedding, if the bandwidth is the median: 1 − 1/e
_NUM_COMPARED = 1000  # points of each pool
_MIN_EVALS_PER_PARTICLE = 2  # with fewer, many particles are the same point
_MIN_DRAWS_WITH_HEAVY_TAIL = 2.0  # independent draws per particle: then the weights are fine whatever their tail


def collect_warnings(
    state: AdaptiveState, num_particles: int, initial: Initial, shape: float, tuning: Tuning, *, is_refined: bool
) -> Iterator[str]:
    """One sentence or two for every reason; refined particles do not depend on the weights."""
    draws_per_particle = state.effective_sample_size / num_particles
    coverage = find_coverage(state, tuning.min_excess)
    if coverage is not None and coverage.num_finds > 0 and coverage.unseen > tuning.max_unseen:
        yield (
            f"{coverage.num_finds} of {coverage.num_climbs} climbs led to new modes, including one of the last "
            f"{coverage.num_since_last + 1}: there may be more. Allow more evaluations."
        )
    yield from _warn_of_repeats(state.max_evals, num_particles)
    if not is_refined and (draws_per_particle < tuning.min_draws_per_particle or state.tempering < tuning.min_power):
        yield (
            f"The {len(state.archive):,} evaluations amount to only {state.effective_sample_size:.0f} independent "
            "draws; the particles should not be trusted. Allow more evaluations, start closer to the target, or give "
            "its bounds."
        )
        return
    rise = _evidence_rise(state, num_particles, tuning)
    if rise > 0:
        yield (
            f"The second half of the evaluations multiplied the integral of the density by {np.exp(min(rise, 99)):.2g}"
            ": mass is still being found, and some may be missing. Allow more evaluations."
        )
    min_size = tuning.min_draws_to_compare * num_particles if is_refined else 0.0
    if _is_moving(state, num_particles, initial, min_size):
        yield (
            "The last evaluations moved the weighted points farther than chance would: they have not settled, and the "
            "particles may be far from the target. Allow more evaluations."
        )
    if not is_refined and shape > tuning.max_pareto_shape and draws_per_particle < _MIN_DRAWS_WITH_HEAVY_TAIL:
        yield (
            f"The largest weights are too heavy to be trusted (a Pareto shape of {shape:.1f}). Allow more evaluations, "
            "or start wider."
        )


def warn_of_surrogate(answer: SurrogateAnswer, num_particles: int, tuning: Tuning) -> Iterator[str]:
    """What may be wrong if a surrogate weighted the points."""
    yield from _warn_of_repeats(len(answer.points), num_particles)
    if not answer.prediction_error <= tuning.max_prediction_error:
        yield (
            f"The particles represent a surrogate of the log-density, and half of its last {answer.num_predicted} "
            f"predictions were wrong by more than {answer.prediction_error:.2g} nats: the particles should not be "
            "trusted. Allow more evaluations, or start closer to the target."
        )
    if answer.evidence_rise > tuning.max_evidence_rise + 3 * answer.log_evidence_error:
        yield (
            "The last third of the evaluations multiplied the integral of the density by "
            f"{np.exp(min(answer.evidence_rise, 99)):.2g}: mass is still being found, and some may be missing. Allow "
            "more evaluations."
        )


def _warn_of_repeats(num_evals: int, num_particles: int) -> Iterator[str]:
    if num_evals < _MIN_EVALS_PER_PARTICLE * num_particles:
        yield (
            f"{num_evals:,} evaluations are fewer than two per particle: the {num_particles} particles are "
            "evaluated points, repeated by their weight. Ask for fewer particles, or allow more evaluations."
        )


def _evidence_rise(state: AdaptiveState, num_particles: int, tuning: Tuning) -> float:
    """By how much the second half of the points raised the log-evidence, if it is more than chance; else 0."""
    half = state.path_at(_reference(state, 0.5))
    if half.effective_sample_size <= tuning.min_draws_to_compare * num_particles:
        return 0.0
    rise = state.log_evidence - half.log_evidence
    return rise if rise > tuning.max_evidence_rise + 3 / np.sqrt(half.effective_sample_size) else 0.0


def _is_moving(state: AdaptiveState, num_particles: int, initial: Initial, min_size: float) -> bool:
    """Unless the earlier points are worth too little to compare with."""
    for fraction, times in _MOVEMENTS:
        earlier = state.archive.before(_reference(state, fraction), initial)
        if np.isfinite(earlier.log_evidence) and earlier.effective_sample_size >= min_size:
            distance, allowed = movement(earlier, state.archive, num_particles)
            if distance > times * allowed:
                return True
    return False


def movement(earlier: WeightedArchive, now: WeightedArchive, num_particles: int) -> tuple[float, float]:
    """How far the weighted points have moved, and how far they may have.

    The distance is the maximum mean discrepancy in standardized coordinates. They may have moved as far as two samples
    of exact draws, as many as there are particles, are apart, and by the error of the earlier weights.
    """
    from steinbox.diagnostics.mmd import mmd

    rng = np.random.default_rng(0)
    after, before = (
        archive.points[systematic_resample(normalize(archive.log_weights), _NUM_COMPARED, rng)]
        for archive in (now, earlier)
    )
    scale = np.maximum(after.std(axis=0), 1e-300)
    allowed = np.sqrt(_EMBEDDING_VARIANCE * (1 / earlier.effective_sample_size + 2 / num_particles))
    return mmd(before / scale, after / scale), float(allowed)


def _reference(state: AdaptiveState, fraction: float) -> float:
    """The fraction of the points to compare with, but not from before a mode was found, unless that was late."""
    memory = state.memories.get(Climbs.name)
    found_at = 0 if memory is None else memory.found_at
    return max(fraction, min(found_at / len(state.archive) + 1e-9, _LAST_REFERENCE))
