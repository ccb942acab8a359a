r"""Markov chains side by side: what all Metropolis-Hastings baselines share.

A subclass only says what its proposal is; see :class:`Proposal`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.evaluation import Evaluation
from steinbox.samplers.acceptance import acceptance_probability
from steinbox.samplers.base import Info, Problem, Sample
from steinbox.samplers.fixed_length import CountingSampler, FixedLength


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
class MarkovChains(FixedLength[ChainState], CountingSampler[ChainState]):
    """n Metropolis-Hastings chains, one evaluation each per step.

    The answer is where they are at the end. They learn from each other during the first part of the run and keep their
    proposal from then on, so that the second part leaves the target exactly invariant. The log-density at a chain's
    state is kept, never evaluated again: with an unbiased estimate of a density the chains are pseudo-marginal ones and
    still exact.

    Parameters
    ----------
    num_iterations : int, optional
        Steps of each chain. If not given, as many as the budget allows.
    adaptation : float
        The part of the run in which the proposal learns.

    Notes
    -----
    ``result.trace`` has, for each step, the mean probability of ``acceptance``.
    """

    adaptation: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.adaptation <= 1:
            raise ValueError(f"expected adaptation between 0 and 1, got {self.adaptation}")

    @property
    def tolerates_empty_batch(self) -> bool:
        """Chains whose proposals all lie outside the support stay where they are."""
        return True

    @abstractmethod
    def first_proposal(self, particles: Array) -> Proposal:
        """The proposal before anything was learned."""

    def start(self, problem: Problem, rng: np.random.Generator) -> ChainState:
        """The chains before their starting points are evaluated."""
        particles = problem.particles
        return ChainState(
            points=particles,
            log_prob=np.full(len(particles), -np.inf),
            proposed=particles,
            correction=np.full(len(particles), np.inf),  # the start itself is accepted
            proposal=self.first_proposal(particles),
            iteration=0,
            num_iterations=self.count_iterations(problem),
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
        iteration = state.iteration + 1
        moved = ChainState(new_points, log_prob, proposed, correction, proposal, iteration, state.num_iterations)
        return moved, {"acceptance": float(probability.mean())}

    def sample(self, state: ChainState) -> Sample:
        """Where the chains are; one that never found the support has no weight."""
        return Sample.equally_weighted(state.points, state.log_prob)


def _all_inside(points: Array, log_prob: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Where a chain starts is free, and one outside the support might never find it."""
    inside = np.isfinite(log_prob)
    places = np.where(inside, np.arange(len(points)), rng.choice(np.flatnonzero(inside), size=len(points)))
    return points[places], log_prob[places]
