r"""Markov chains side by side: what all Metropolis-Hastings baselines share.

A subclass only says what its proposal is; see :class:`Proposal`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.checks import whole_number
from steinbox.common.serialization import serializable
from steinbox.evaluation import Evaluation
from steinbox.samplers.acceptance import acceptance_probability
from steinbox.samplers.base import Info, Problem, Sample
from steinbox.samplers.fixed_length import CountingSampler, FixedLength
from steinbox.samplers.markov.backlog import Backlog, Learner


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
    """Where the chains are, and where they may go; ``steps`` (n,) are those of each, once it goes on alone.

    There is a ``backlog`` if they learn from each other meanwhile.
    """

    points: Array
    log_prob: Array
    proposed: Array
    correction: Array
    proposal: Proposal
    iteration: int
    num_iterations: int
    steps: IntegerArray | None = None
    backlog: Backlog | None = None

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
    lead : int
        With ``asynchronous=True``, the steps by which a chain may be ahead of the slowest while they learn from each
        other: its proposal has learned from so many steps less. With 0 they wait for each other at each of these steps.

    Notes
    -----
    ``result.trace`` has, for each step, the mean probability of ``acceptance``. With ``asynchronous=True``, once the
    chains no longer learn from each other (with ``lead``, from the start), each goes on as soon as its own value is
    back: it then has its own random numbers, so that the order of arrivals changes nothing, and the trace has a row for
    every n steps of any chain.
    """

    adaptation: float = 0.5
    lead: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.adaptation <= 1:
            raise ValueError(f"expected adaptation between 0 and 1, got {self.adaptation}")
        whole_number("lead", self.lead, 0)

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
        if state.iteration > 0 and not self._has_learned(state):
            proposal = proposal.learn(new_points, float(probability.mean()), state.iteration, rng)
        proposed, correction = proposal.draw(new_points, rng)
        iteration = state.iteration + 1
        moved = ChainState(new_points, log_prob, proposed, correction, proposal, iteration, state.num_iterations)
        return moved, {"acceptance": float(probability.mean())}

    # -- each chain on its own -----------------------------------------------------------------------------------------

    def is_separable(self, state: ChainState) -> bool:
        """Whether the chains learn from each other no more, or need not wait for it."""
        return self._has_learned(state) or (self.lead > 0 and state.iteration > 0)

    def _has_learned(self, state: ChainState) -> bool:
        return state.iteration > max(0.0, self.adaptation * state.num_iterations)

    def ask_chains(self, state: ChainState) -> tuple[Array, IntegerArray]:
        """The proposed points, and the steps of each chain."""
        return state.proposed, state.num_steps

    def find_unfinished(self, state: ChainState) -> IntegerArray:
        """Those with steps to make, the last of all first."""
        steps = state.num_steps
        order = np.argsort(steps, kind="stable")
        may_go = steps <= state.num_iterations
        if state.backlog is not None:
            may_go &= ~state.backlog.waits
        return order[may_go[order]]

    def tell_chains(
        self, state: ChainState, chains: IntegerArray, evaluation: Evaluation, seed: int
    ) -> tuple[ChainState, Info]:
        """Accept or reject, learn, propose; the random numbers are those of the seed, the step and the chain."""
        probability = acceptance_probability(state.log_prob[chains], evaluation.log_prob, state.correction[chains])
        points, log_prob, steps = state.points.copy(), state.log_prob.copy(), state.num_steps.copy()
        for i, chain in enumerate(chains.tolist()):
            if _generator(seed, steps[chain], chain).random() < probability[i]:
                points[chain], log_prob[chain] = state.proposed[chain], evaluation.log_prob[i]
        made = steps[chains]
        steps[chains] += 1
        moved = replace(state, points=points, log_prob=log_prob, steps=steps, iteration=int(steps.min()))
        info = {"acceptance": float(probability.mean())}
        if state.backlog is None and (self.lead == 0 or self._has_learned(state)):
            return _propose(moved, [(chain, state.proposal) for chain in chains.tolist()], seed), info
        return self._learn_apart(moved, chains, made, probability, seed), info

    def _learn_apart(
        self, state: ChainState, chains: IntegerArray, made: IntegerArray, probability: Array, seed: int
    ) -> ChainState:
        """Learn what can be learned, and propose for all chains that can know by now what they need."""
        backlog = state.backlog
        if backlog is None:
            last_step = int(self.adaptation * state.num_iterations)
            backlog = Backlog.start(state.proposal, self.lead, last_step, state.points)
        backlog = backlog.see(chains, made, state.points[chains], probability)
        backlog = backlog.learn(int(state.num_steps.min()) - 1, seed)
        found = ((chain, backlog.find_version(state.num_steps[chain])) for chain in np.flatnonzero(backlog.waits))
        ready = [(int(chain), proposal) for chain, proposal in found if proposal is not None]
        waits = backlog.waits.copy()
        waits[[chain for chain, _ in ready]] = False
        return _propose(replace(state, backlog=replace(backlog, waits=waits)), ready, seed)

    def progress(self, state: ChainState) -> float:
        """The part of all steps that is made."""
        return min(1.0, float(state.num_steps.mean()) / state.num_iterations)

    def sample(self, state: ChainState) -> Sample:
        """Where the chains are; one that never found the support has no weight."""
        return Sample.equally_weighted(state.points, state.log_prob)


def _propose(state: ChainState, chains: Sequence[tuple[int, Learner]], seed: int) -> ChainState:
    """The state with where these chains may go next, each by its proposal."""
    proposed, correction = state.proposed.copy(), state.correction.copy()
    for chain, proposal in chains:
        rng = _generator(seed, state.num_steps[chain] - 1, chain)
        rng.random()  # by which its last step was accepted or not
        own = slice(chain, chain + 1)
        proposed[own], correction[own] = proposal.draw(state.points[own], rng)
    return replace(state, proposed=proposed, correction=correction)


def _generator(seed: int, step: int, chain: int) -> np.random.Generator:
    key = (int(step), chain, 2)  # of three numbers, the last of which is nobody else's
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _all_inside(points: Array, log_prob: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Where a chain starts is free, and one outside the support might never find it."""
    inside = np.isfinite(log_prob)
    places = np.where(inside, np.arange(len(points)), rng.choice(np.flatnonzero(inside), size=len(points)))
    return points[places], log_prob[places]
