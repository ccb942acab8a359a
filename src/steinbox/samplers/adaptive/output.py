"""The particles and the pool they are chosen from."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.initial import Initial
from steinbox.numerics.herding import select
from steinbox.numerics.weights import normalize, pareto_shape, temper
from steinbox.samplers.adaptive.evidence import estimate_evidence
from steinbox.samplers.adaptive.proposers import SurrogateRefinement
from steinbox.samplers.adaptive.proposers.climbs import find_coverage
from steinbox.samplers.adaptive.proposers.surrogate_search import SurrogateAnswer, find_answer
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.tuning import Tuning
from steinbox.samplers.adaptive.warnings import collect_warnings, warn_of_surrogate
from steinbox.samplers.base import Sample, WeightedSample

_MIN_DRAWS = 0.1  # independent draws per particle: with fewer, weights are tempered before particles are chosen


def make_sample(state: AdaptiveState, num_particles: int, initial: Initial, tuning: Tuning) -> Sample:
    """The particles: points of the archive, or the refined ones if the surrogate predicted them well.

    With few evaluations, which a surrogate chose, they are weighted by it.
    """
    answer = find_answer(state)
    if answer is not None:
        return _make_surrogate_sample(answer, num_particles, tuning)
    archive, shape = state.archive, pareto_shape(state.archive.log_weights)
    weights = normalize(archive.log_weights)
    is_refined = has_refined_particles(state, tuning)
    if is_refined:
        chosen = np.arange(len(archive) - num_particles, len(archive))
    else:
        spread = _temper_few(weights, num_particles)
        chosen = select(archive.points, spread, num_particles, log_prob=archive.log_prob)
    log_evidence, log_evidence_error = estimate_evidence(state, initial, tuning.min_power)
    pool = WeightedSample(
        points=archive.points,
        weights=weights,
        log_prob=archive.log_prob,
        pareto_shape=shape,
        mixture=None if state.fit is None else state.fit.density,
    )
    return Sample(
        archive.points[chosen],
        np.full(num_particles, 1 / num_particles),
        archive.log_prob[chosen],
        pool,
        log_evidence=log_evidence,
        coverage=find_coverage(state, tuning.min_excess),
        log_evidence_error=log_evidence_error,
        warnings=tuple(collect_warnings(state, num_particles, initial, shape, tuning, is_refined=is_refined)),
    )


def _make_surrogate_sample(answer: SurrogateAnswer, num_particles: int, tuning: Tuning) -> Sample:
    chosen = select(answer.points, answer.weights, num_particles, log_prob=answer.log_prob)
    return Sample(
        answer.points[chosen],
        np.full(num_particles, 1 / num_particles),
        answer.log_prob[chosen],
        WeightedSample(answer.points, answer.weights, answer.log_prob),
        log_evidence=answer.log_evidence,
        log_evidence_error=answer.log_evidence_error,
        warnings=tuple(warn_of_surrogate(answer, num_particles, tuning)),
    )


def has_refined_particles(state: AdaptiveState, tuning: Tuning) -> bool:
    """Whether the last points are particles that a surrogate chose, and have the log-densities it predicted."""
    prediction = state.memories.get(SurrogateRefinement.name)
    last = state.archive.sources[-1]
    if prediction is None or last.proposer != SurrogateRefinement.name:
        return False
    return bool(prediction.agrees(state.archive.log_prob[len(state.archive) - last.count :], tuning.min_agreement))


def _temper_few(weights: Array, num_particles: int) -> Array:
    """The weights, tempered if they rest on so few points that the particles would all be the same."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    num_inside = int(np.isfinite(log_weights).sum())
    return normalize(temper(log_weights, min(_MIN_DRAWS * num_particles, 0.5 * num_inside)) * log_weights)
