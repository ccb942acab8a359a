"""The particles, the pool they are chosen from, and what makes them doubtful."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.initial import Initial
from steinbox.diagnostics.mmd import mmd
from steinbox.numerics.herding import select
from steinbox.numerics.pareto import pareto_shape
from steinbox.numerics.weights import normalize, systematic_resample, temper
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.base import Sample, WeightedSample

_FEW = 0.1  # independent draws per particle: with fewer, weights are tempered before particles are chosen
_TOO_FEW = 0.25  # independent draws per particle: with fewer, 200 particles are twice as far off as 200 exact draws
_UNEVEN = 0.9  # weights that must still be tempered to a smaller power are too uneven
_RISEN = 0.3  # nats of log-evidence that the second half of the points may add
_COMPARABLE = 0.1  # independent draws per particle that the first half must have been worth to be compared with
_MOVED = ((0.5, 2.0), (0.75, 1.0))  # since there was this share of the points, the pool may move so many times as far
_LATEST = 0.75  # share of the points: what the search found until then, it found in time
_VARIANCE = 0.63  # of one draw's kernel embedding, if the bandwidth is the median: 1 - 1/e
_NUM_COMPARED = 1000  # points of each pool
_PLENTY = 2.0  # independent draws per particle: then the weights are fine whatever their tail
_HEAVY = 0.7  # a Pareto shape beyond which weights have practically no variance (Vehtari et al., 2024)


def answer(state: AdaptiveState, initial: Initial) -> Sample:
    """The particles: points of the archive, or those of the polish if the regression predicted them well."""
    shape = pareto_shape(state.ledger.log_weights)
    points, log_prob, weights = state.ledger.points, state.ledger.log_prob, normalize(state.ledger.log_weights)
    if state.polish is not None and state.polish.is_good:
        particles, particles_log_prob = state.polish.points, state.polish.log_prob
    else:
        chosen = select(points, _spread(weights, state.num_particles), state.num_particles, log_prob=log_prob)
        particles, particles_log_prob = points[chosen], log_prob[chosen]
    pool = WeightedSample(
        points=points,
        weights=weights,
        log_prob=log_prob,
        pareto_shape=shape,
        mixture=None if state.fitted is None else state.fitted.density,
    )
    return Sample(
        particles,
        np.full(len(particles), 1 / len(particles)),
        particles_log_prob,
        pool,
        log_evidence=state.log_evidence,
        log_evidence_error=float(np.sqrt(max(1 / state.effective_sample_size - 1 / len(state.ledger), 0.0))),
        warnings=tuple(_warnings(state, initial, shape)),
    )


def _is_polished(state: AdaptiveState) -> bool:
    return state.polish is not None and state.polish.is_good


def _spread(weights: Array, num_particles: int) -> Array:
    """The weights, tempered if they rest on so few points that the particles would all be the same."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    num_inside = int(np.isfinite(log_weights).sum())
    return normalize(temper(log_weights, min(_FEW * num_particles, 0.5 * num_inside)) * log_weights)


def _is_poor(state: AdaptiveState) -> bool:
    """Whether the weighted points are worth too little."""
    return bool(state.effective_sample_size < _TOO_FEW * state.num_particles or state.tempering < _UNEVEN)


def _moved(state: AdaptiveState, share: float, initial: Initial) -> tuple[float, float]:
    """How far the weighted points have moved since there was this share of them, and how far they may have.

    The distance is the maximum mean discrepancy in standardised coordinates. They may have moved as far as two samples
    of exact draws, as many as there are particles, are apart, and by the error of the earlier weights.
    """
    earlier = state.ledger.before(share, initial)
    is_nothing = not np.isfinite(earlier.log_evidence)
    if is_nothing or (_is_polished(state) and earlier.effective_sample_size < _COMPARABLE * state.num_particles):
        return 0.0, np.inf
    rng = np.random.default_rng(0)
    now, then = (
        ledger.points[systematic_resample(normalize(ledger.log_weights), _NUM_COMPARED, rng)]
        for ledger in (state.ledger, earlier)
    )
    scale = np.maximum(now.std(axis=0), 1e-300)
    allowed = np.sqrt(_VARIANCE * (1 / earlier.effective_sample_size + 2 / state.num_particles))
    return mmd(then / scale, now / scale), float(allowed)


def _warnings(state: AdaptiveState, initial: Initial, shape: float) -> Iterator[str]:
    is_polished = _is_polished(state)  # then the particles do not depend on the weights
    if not is_polished and _is_poor(state):
        yield (
            f"The {len(state.ledger):,} evaluations amount to only {state.effective_sample_size:.0f} independent "
            "draws; the particles should not be trusted. Allow more evaluations, start closer to the target, or give "
            "its bounds."
        )
        return
    half = state.path_at(_reference(state, 0.5))
    risen = state.log_evidence - half.log_evidence
    is_comparable = half.effective_sample_size > _COMPARABLE * state.num_particles
    if is_comparable and risen > _RISEN + 3 / np.sqrt(half.effective_sample_size):
        yield (
            f"The second half of the evaluations multiplied the integral of the density by {np.exp(min(risen, 99)):.2g}"
            ": mass is still being found, and some may be missing. Allow more evaluations."
        )
    if any(distance > times * allowed for times, (distance, allowed) in _movements(state, initial)):
        yield (
            "The last evaluations moved the weighted points farther than chance would: they are on their way, and the "
            "particles may be far from the target. Allow more evaluations."
        )
    if not is_polished and shape > _HEAVY and state.effective_sample_size < _PLENTY * state.num_particles:
        yield f"The largest weights are too heavy to be trusted (a Pareto shape of {shape:.1f})."


def _movements(state: AdaptiveState, initial: Initial) -> Iterator[tuple[float, tuple[float, float]]]:
    for share, times in _MOVED:
        yield times, _moved(state, _reference(state, share), initial)


def _reference(state: AdaptiveState, share: float) -> float:
    """The share of the points to compare with, but not from before the search found mass, unless that was late."""
    return max(share, min(state.search.found_at / len(state.ledger) + 1e-9, _LATEST))
