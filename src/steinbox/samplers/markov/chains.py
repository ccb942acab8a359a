r"""Markov chains side by side: what all Metropolis-Hastings baselines share.

A subclass only says what its proposal is; see :class:`Proposal`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.evaluation import Evaluation
from steinbox.samplers.acceptance import acceptance_probability
from steinbox.samplers.base import Info, Sample
from steinbox.samplers.fixed_length import FixedLength, equally_weighted


class Proposal(Protocol):
    """Where n chains may go next, and what is learned from how it went. Immutable."""

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        r"""Proposed points (n, d), and the corrections :math:`\log q(x \mid x') - \log q(x' \mid x)`, (n,)."""
        ...

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> Proposal:
        """The proposal for the next step, after this one (counted from 1) led to these points."""
        ...


@serializable("markov-chain-state")
@dataclass(frozen=True, eq=False)
class ChainState:
    """Where the chains are, and where they may go."""

    points: Array
    log_prob: Array
    proposed: Array
    correction: Array
    proposal: Proposal
    iteration: int
    num_iterations: int


@dataclass(frozen=True, kw_only=True)
class MarkovChains(FixedLength, ABC):
    """n Metropolis-Hastings chains, one evaluation each per step.

    The answer is where they are at the end. They learn from each other during the first part of the run and keep their
    proposal from then on, so that the second part leaves the target exactly invariant. The log-density at a chain's
    state is kept, never evaluated again: with an unbiased estimate of a density the chains are pseudo-marginal ones and
    still exact.

    Parameters
    ----------
    num_iterations : int, optional
        Steps of each chain. If not given, as many as the budget pays.
    adaptation : float
        The part of the run in which the proposal learns.
    """

    adaptation: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.adaptation <= 1:
            raise ValueError(f"expected adaptation between 0 and 1, got {self.adaptation}")

    @abstractmethod
    def first_proposal(self, particles: Array) -> Proposal:
        """The proposal before anything was learned."""

    def start(self, particles: Array, max_evals: int, rng: np.random.Generator) -> ChainState:
        """The chains before their starting points are evaluated."""
        return ChainState(
            points=particles,
            log_prob=np.full(len(particles), -np.inf),
            proposed=particles,
            correction=np.full(len(particles), np.inf),  # the start itself is accepted
            proposal=self.first_proposal(particles),
            iteration=0,
            num_iterations=self.plan(len(particles), max_evals),
        )

    def ask(self, state: ChainState, rng: np.random.Generator) -> Array:
        """The proposed points."""
        return state.proposed

    def tell(
        self, state: ChainState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[ChainState, Info]:
        """Accept or reject, learn, propose. Chains that start outside the support go where others are inside."""
        probability = acceptance_probability(state.log_prob, evaluation.log_prob, state.correction)
        accepted = rng.random(len(points)) < probability
        new_points = np.where(accepted[:, None], points, state.points)
        log_prob = np.where(accepted, evaluation.log_prob, state.log_prob)
        if state.iteration == 0:
            new_points, log_prob = _all_inside(new_points, log_prob, rng)
        proposal = state.proposal
        if 0 < state.iteration <= self.adaptation * state.num_iterations:
            proposal = proposal.learn(new_points, float(probability.mean()), state.iteration, rng)
        proposed, correction = proposal.draw(new_points, rng)
        info = {
            "acceptance": float(probability.mean()),
            "mean_log_prob": float(log_prob[np.isfinite(log_prob)].mean()),
        }
        iteration = state.iteration + 1
        return ChainState(new_points, log_prob, proposed, correction, proposal, iteration, state.num_iterations), info

    def draws(self, state: ChainState) -> Sample:
        """Where the chains are; one that never found the support has no weight."""
        return equally_weighted(state.points, state.log_prob)


def _all_inside(points: Array, log_prob: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Where a chain starts is free, and one outside the support might never find it."""
    inside = np.isfinite(log_prob)
    places = np.where(inside, np.arange(len(points)), rng.choice(np.flatnonzero(inside), size=len(points)))
    return points[places], log_prob[places]
