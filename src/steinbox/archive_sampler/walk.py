"""When no mixture can follow the target: Markov chains from the initial distribution take over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steinbox.archive_sampler.state import ArchiveState, Batch, Walk
from steinbox.baselines.khmc import KHMC
from steinbox.evaluate import Evaluation

_FEWEST_STEPS = 25
FAR = 0.3  # weights that must be tempered to a smaller power are of a mixture that is far from the target
_NEAR = 0.8  # to a larger one: of a mixture that has arrived
_ON_THE_WAY = 1.2  # the mixture is, if that power has grown by this factor since there were half as many points
_PATIENCE = 0.05  # of the budget, for the mixture to take up what a search found
_FEWEST_STARTS = 3  # points of the initial distribution that are inside the support
_CHAINS = KHMC()


def ought_to_walk(state: ArchiveState) -> bool:
    """Whether half of the budget is spent, and the mixture does not follow the target.

    It does not if it is far from the target still, and not on its way any more or would not arrive in time. Chains must
    be able to make some steps, too. What a search has just found, the mixture needs time to take up.
    """
    left = state.max_evals - state.num_evals
    if left > 0.5 * state.max_evals or left < _FEWEST_STEPS * state.num_particles:
        return False
    num_since = len(state.ledger) - state.search.found_at
    if state.search.is_on or num_since < _PATIENCE * state.max_evals:
        return False
    return state.tempering < FAR and not _is_on_its_way(state)


def _is_on_its_way(state: ArchiveState) -> bool:
    """Whether the power has grown since there were half as many points, and will be large enough if it goes on so."""
    half = state.path_at(0.5).num_points
    if not 0 < half < len(state.ledger):
        return True  # there is nothing to compare with
    now = max(each.tempering for each in state.path)
    before = max(each.tempering for each in state.path if each.num_points <= half)
    left = (state.max_evals - state.num_evals) / (len(state.ledger) - half)
    foretold = now * (now / before) ** left
    return bool(now > _ON_THE_WAY * before and foretold > _NEAR)


def begin_walk(state: ArchiveState, rng: np.random.Generator) -> ArchiveState:
    """Chains from the draws of the initial distribution, which are still far from each other.

    If hardly any of these is inside the support, they start from all points that are.
    """
    ledger = state.ledger
    is_inside = np.isfinite(ledger.log_prob)
    is_start = is_inside & ledger.is_of_initial
    inside = np.flatnonzero(is_start if is_start.sum() >= _FEWEST_STARTS else is_inside)
    rows = rng.choice(inside, size=state.num_particles, replace=len(inside) < state.num_particles)
    chains = _CHAINS.start(ledger.points[rows], state.max_evals - state.num_evals + state.num_particles, rng)
    proposed, correction = chains.proposal.draw(chains.points, rng)
    chains = replace(chains, log_prob=ledger.log_prob[rows], proposed=proposed, correction=correction, iteration=1)
    walk = Walk(chains, np.empty((0, ledger.points.shape[1])), np.empty(0))
    return replace(state, walk=walk, next=Batch("chains", proposed, (), ()))


def walked(state: ArchiveState, walk: Walk, evaluation: Evaluation, rng: np.random.Generator) -> ArchiveState:
    """A step of all chains; what they visit in the second half, when they have stopped learning, is kept."""
    chains, _ = _CHAINS.tell(walk.chains, walk.chains.proposed, evaluation, rng)
    points, log_prob = walk.points, walk.log_prob
    if chains.iteration > 0.5 * chains.num_iterations:
        points, log_prob = np.concatenate([points, chains.points]), np.concatenate([log_prob, chains.log_prob])
    over = chains.iteration > chains.num_iterations
    following = Batch.nothing(points.shape[1]) if over else Batch("chains", chains.proposed, (), ())
    return replace(state, walk=Walk(chains, points, log_prob), next=following)
