r"""Markov chains side by side: what all Metropolis-Hastings baselines share.

A subclass only says what its proposal is; see :class:`Proposal`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
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
    """Where the chains are, and where they may go; ``steps`` (n,) are those of each, once it goes on alone."""

    points: Array
    log_prob: Array
    proposed: Array
    correction: Array
    proposal: Proposal
    iteration: int
    num_iterations: int
    steps: IntegerArray | None = None

    @property
    def num_steps(self) -> IntegerArray:
        """Proposals that each chain has been told of, its start among them."""
        return np.full(len(self.points), self.iteration) if self.steps is None else self.steps


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
    ``result.trace`` has, for each step, the mean probability of ``acceptance``. With ``asynchronous=True``, once the
    chains no longer learn from each other, each goes on as soon as its own value is back: it then has its own random
    numbers, so that the order of arrivals changes nothing, and the trace has a row for every n steps of any chain.
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
        if state.iteration > 0 and not self.is_separable(state):
            proposal = proposal.learn(new_points, float(probability.mean()), state.iteration, rng)
        proposed, correction = proposal.draw(new_points, rng)
        iteration = state.iteration + 1
        moved = ChainState(new_points, log_prob, proposed, correction, proposal, iteration, state.num_iterations)
        return moved, {"acceptance": float(probability.mean())}

    # -- each chain on its own -----------------------------------------------------------------------------------------

    def is_separable(self, state: ChainState) -> bool:
        """Whether the chains learn from each other no more."""
        return state.iteration > max(0.0, self.adaptation * state.num_iterations)

    def ask_chains(self, state: ChainState) -> tuple[Array, IntegerArray]:
        """The proposed points, and the steps of each chain."""
        return state.proposed, state.num_steps

    def find_unfinished(self, state: ChainState) -> IntegerArray:
        """Those with steps to make, the last of all first."""
        steps = state.num_steps
        order = np.argsort(steps, kind="stable")
        return order[steps[order] <= state.num_iterations]

    def tell_chains(
        self, state: ChainState, chains: IntegerArray, evaluation: Evaluation, seed: int
    ) -> tuple[ChainState, Info]:
        """Accept or reject, and propose; the random numbers are those of the seed, the step and the chain."""
        probability = acceptance_probability(state.log_prob[chains], evaluation.log_prob, state.correction[chains])
        points, log_prob, proposed = state.points.copy(), state.log_prob.copy(), state.proposed.copy()
        correction, steps = state.correction.copy(), state.num_steps.copy()
        for i, chain in enumerate(chains.tolist()):
            key = (int(steps[chain]), chain, 2)  # of three numbers, the last of which is nobody else's
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
            if rng.random() < probability[i]:
                points[chain], log_prob[chain] = proposed[chain], evaluation.log_prob[i]
            own = slice(chain, chain + 1)
            proposed[own], correction[own] = state.proposal.draw(points[own], rng)
        steps[chains] += 1
        moved = ChainState(
            points,
            log_prob,
            proposed,
            correction,
            state.proposal,
            int(steps.min()),
            state.num_iterations,
            steps,
        )
        return moved, {"acceptance": float(probability.mean())}

    def progress(self, state: ChainState) -> float:
        """The part of all steps that is made."""
        return min(1.0, float(state.num_steps.mean()) / state.num_iterations)

    def sample(self, state: ChainState) -> Sample:
        """Where the chains are; one that never found the support has no weight."""
        return Sample.equally_weighted(state.points, state.log_prob)


def _all_inside(points: Array, log_prob: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Where a chain starts is free, and one outside the support might never find it."""
    inside = np.isfinite(log_prob)
    places = np.where(inside, np.arange(len(points)), rng.choice(np.flatnonzero(inside), size=len(points)))
    return points[places], log_prob[places]
