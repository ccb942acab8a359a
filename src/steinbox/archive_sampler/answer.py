"""The particles, the pool they are chosen from, and what makes them doubtful."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.archive_sampler.state import ArchiveState, Walk
from steinbox.initial import Initial
from steinbox.pareto import pareto_smoothed
from steinbox.samplers.base import Draws, Pool
from steinbox.selection import select
from steinbox.types import Array
from steinbox.weights import normalize

_BEYOND = np.log(10)  # a chain's point that is so much denser than the archive knows is news
_MANY = 0.1


def answer(state: ArchiveState, initial: Initial) -> Draws:
    """Points of the archive, or of the chains if these have been where the archive has not."""
    ledger = state.ledger
    log_weights, shape = pareto_smoothed(ledger.log_weights)
    points, log_prob, weights = ledger.points, ledger.log_prob, normalize(log_weights)
    news = _news(state, initial)
    if state.walk is not None and news > _MANY:
        points, log_prob = state.walk.points, state.walk.log_prob
        weights = np.full(len(points), 1 / len(points))
    chosen = select(points, weights, state.num_particles, log_prob=log_prob)
    error = np.sqrt(max(1 / state.effective_size - 1 / len(ledger), 0.0))
    pool = Pool(
        points=points,
        weights=weights,
        log_prob=log_prob,
        log_evidence=state.log_evidence,
        log_evidence_error=float(error),
        effective_sample_size=state.effective_size,
        pareto_shape=shape,
        mixture=None if state.fitted is None else state.fitted.density,
        doubts=tuple(_doubts(state, shape, news)),
    )
    return Draws(points[chosen], np.full(len(chosen), 1 / len(chosen)), log_prob[chosen], pool)


def _news(state: ArchiveState, initial: Initial) -> float:
    """Which part of the chains' points is much denser than all proposals together knew."""
    if state.walk is None or not len(state.walk.points):
        return 0.0
    walk: Walk = state.walk
    recent = slice(-4 * state.num_particles, None)
    known: Array = state.ledger.log_density(walk.points[recent], initial)
    return float((walk.log_prob[recent] - known - state.log_evidence > _BEYOND - np.log(len(state.ledger))).mean())


def _doubts(state: ArchiveState, shape: float, news: float) -> Iterator[str]:
    num_points, size = len(state.ledger), state.effective_size
    if news > _MANY:
        yield "chains"
        return
    if size < state.num_particles:
        yield f"The {num_points:,} evaluations amount to only {size:.0f} independent draws; try more"
