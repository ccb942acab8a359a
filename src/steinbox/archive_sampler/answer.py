"""The particles, the pool they are chosen from, and what makes them doubtful."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.archive_sampler.state import ArchiveState
from steinbox.initial import Initial
from steinbox.pareto import pareto_smoothed
from steinbox.samplers.base import Draws, Pool
from steinbox.selection import select
from steinbox.types import Array
from steinbox.weights import normalize, temper

_NEWS = np.log(10)  # a chain's point that is so much denser than the archive knows is news
_MANY = 0.1  # of the chains' points
_FEW = 0.1  # independent draws per particle: with fewer, weights are tempered before particles are chosen
_TOO_FEW = 0.25  # independent draws per particle: with fewer, 200 particles are twice as far off as 200 exact draws
_UNEVEN = 0.9  # weights that must still be tempered to a smaller power are too uneven
_RISEN = 0.3  # nats of log-evidence that the second half of the points may add
_PLENTY = 2.0  # independent draws per particle: then the weights are fine whatever their tail
_HEAVY = 1.0  # a Pareto shape beyond which weights have no mean


def answer(state: ArchiveState, initial: Initial) -> Draws:
    """Points of the archive, or of the chains if these have been where the archive has not."""
    log_weights, shape = pareto_smoothed(state.ledger.log_weights)
    points, log_prob, weights = state.ledger.points, state.ledger.log_prob, normalize(log_weights)
    news = _news(state, initial)
    if state.walk is not None and news > _MANY:
        points, log_prob = state.walk.points, state.walk.log_prob
        weights = np.full(len(points), 1 / len(points))
    if state.polish is not None and state.polish.is_good:
        particles, particles_log_prob = state.polish.points, state.polish.log_prob
    else:
        chosen = select(points, _spread(weights, state.num_particles), state.num_particles, log_prob=log_prob)
        particles, particles_log_prob = points[chosen], log_prob[chosen]
    pool = Pool(
        points=points,
        weights=weights,
        log_prob=log_prob,
        log_evidence=state.log_evidence,
        log_evidence_error=float(np.sqrt(max(1 / state.effective_size - 1 / len(state.ledger), 0.0))),
        effective_sample_size=state.effective_size,
        pareto_shape=shape,
        mixture=None if state.fitted is None else state.fitted.density,
        doubts=tuple(_doubts(state, shape, news)),
    )
    equal = np.full(len(particles), 1 / len(particles))
    return Draws(particles, equal, particles_log_prob, pool)


def _spread(weights: Array, num_particles: int) -> Array:
    """The weights, tempered if they rest on so few points that the particles would all be the same."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    num_inside = int(np.isfinite(log_weights).sum())
    return normalize(temper(log_weights, min(_FEW * num_particles, 0.5 * num_inside)) * log_weights)


def _news(state: ArchiveState, initial: Initial) -> float:
    """Which part of the chains' last points is much denser than all proposals together knew."""
    if state.walk is None or not len(state.walk.points):
        return 0.0
    recent = slice(-4 * state.num_particles, None)
    known = state.ledger.log_density(state.walk.points[recent], initial) - np.log(len(state.ledger))
    return float((state.walk.log_prob[recent] - state.log_evidence - known > _NEWS).mean())


def _doubts(state: ArchiveState, shape: float, news: float) -> Iterator[str]:
    if state.walk is not None and news > _MANY:
        yield (
            f"No mixture could follow the target. The particles are of Markov chains that made "
            f"{state.walk.chains.iteration - 1} steps from the initial distribution, which they may remember."
        )
        return
    if state.polish is not None and state.polish.is_good:
        return
    if state.effective_size < _TOO_FEW * state.num_particles or state.tempering < _UNEVEN:
        yield (
            f"The {len(state.ledger):,} evaluations amount to only {state.effective_size:.0f} independent draws; the "
            "particles should not be trusted. Pay more evaluations, start closer to the target, or give its bounds."
        )
    before = state.path_at(0.5)
    risen = state.log_evidence - before.log_evidence
    if risen > _RISEN + 2 / np.sqrt(before.effective_size):
        yield (
            f"The second half of the evaluations multiplied the integral of the density by {np.exp(min(risen, 99)):.2g}"
            ": mass is still being found, and some may be missing. Pay more evaluations."
        )
    if shape > _HEAVY and state.effective_size < _PLENTY * state.num_particles:
        yield f"The largest weights are too heavy to be trusted (a Pareto shape of {shape:.1f})."
