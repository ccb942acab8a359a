"""When no mixture can follow the target: Markov chains from the initial distribution take over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steinbox.archive_sampler.state import ArchiveState, Batch, Walk
from steinbox.baselines.differential_evolution import DifferentialEvolution
from steinbox.evaluate import Evaluation

WALK = "chains"
_RISEN = 0.15


def is_stuck(state: ArchiveState) -> bool:
    """Whether half of the budget is spent, the weights are still uneven, and no more even than at a quarter.

    Then there must be room for chains, too.
    """
    if state.tempering == 1 or not 0.5 <= state.num_evals / state.max_evals < 0.75:
        return False
    quarter = next(each for each in state.path if each.num_evals >= 0.25 * state.max_evals)
    room = (state.max_evals - state.num_evals) >= 20 * state.num_particles
    return room and state.tempering < quarter.tempering + _RISEN


def begin_walk(state: ArchiveState, left: int, rng: np.random.Generator) -> ArchiveState:
    """Chains from the first draws, which were of the initial distribution and are still far from each other."""
    ledger = state.ledger
    inside = np.flatnonzero(np.isfinite(ledger.log_prob[: ledger.counts[0]]))
    rows = rng.choice(inside, size=state.num_particles, replace=len(inside) < state.num_particles)
    chains = _CHAINS.start(ledger.points[rows], left, rng)
    proposed, correction = chains.proposal.draw(chains.points, rng)
    chains = replace(chains, log_prob=ledger.log_prob[rows], proposed=proposed, correction=correction, iteration=1)
    nowhere = np.empty((0, ledger.points.shape[1]))
    return replace(state, walk=Walk(chains, nowhere, np.empty(0)), next=Batch(WALK, proposed, (), ()))


def walk_on(state: ArchiveState, evaluation: Evaluation, rng: np.random.Generator) -> ArchiveState:
    """A step of all chains; what they visit after they have stopped learning is kept."""
    if state.walk is None:
        raise ValueError("there are no chains")
    walk = state.walk
    chains, _ = _CHAINS.tell(walk.chains, walk.chains.proposed, evaluation, rng)
    points, log_prob = walk.points, walk.log_prob
    if chains.iteration > 0.5 * chains.num_iterations:
        points, log_prob = np.concatenate([points, chains.points]), np.concatenate([log_prob, chains.log_prob])
    over = state.max_evals - state.num_evals < len(chains.points)
    following = Batch.nothing(chains.points.shape[1]) if over else Batch(WALK, chains.proposed, (), ())
    return replace(state, walk=Walk(chains, points, log_prob), next=following)


_CHAINS = DifferentialEvolution()
