"""Self-normalized importance sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.samplers.base import Info, Problem, Sample
from steinbox.samplers.fixed_length import CountingSampler, FixedLength


@serializable("importance-sampling-state")
@dataclass(frozen=True, eq=False)
class ImportanceState:
    """All draws so far, and those that come next."""

    points: Array
    log_prob: Array
    proposed: Array
    num_iterations: int
    iteration: int


@dataclass(frozen=True, kw_only=True)
class ImportanceSampling(FixedLength[ImportanceState]):
    r"""Draws of a proposal :math:`\rho` with the weights :math:`p / \rho`, normalized.

    Every round draws as many points as there are particles, and all of them are returned.

    Parameters
    ----------
    num_iterations : int, optional
        Rounds. If not given, as many as the budget allows.
    proposal : distribution, optional
        The :math:`\rho`, an object with ``sample``, ``log_prob`` and ``dimension`` such as :class:`steinbox.Gaussian`;
        the initial distribution if not given (the particles of the first round are drawn from it then).

    Notes
    -----
    ``result.trace`` has, after each round, the ``effective_sample_size`` of all draws so far.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * np.sum(x**2), sb.Gaussian([0.5], std=1.5), num_particles=500, seed=0,
    ...                    method=sb.baselines.ImportanceSampling(num_iterations=4))
    >>> len(result.particles), bool(abs(result.mean[0]) < 0.1)
    (2000, True)
    """

    proposal: Initial | None = None

    def evals_needed(self, num_particles: int) -> int | None:
        """Those of all rounds."""
        return None if self.num_iterations is None else self.num_iterations * num_particles

    def plan(self, problem: Problem) -> ImportanceSampler:
        """The initial distribution is the proposal if none was given."""
        num_affordable = problem.max_evals // problem.num_particles
        if num_affordable < 1:
            raise ValueError(
                f"a budget of max_evals={problem.max_evals} does not allow a round of {problem.num_particles} draws"
            )
        num_rounds = min(num_affordable, self.num_iterations or num_affordable)
        return ImportanceSampler(problem.initial if self.proposal is None else self.proposal, num_rounds)


@dataclass(frozen=True)
class ImportanceSampler(CountingSampler[ImportanceState]):
    """Importance sampling with its proposal."""

    proposal: Initial
    num_rounds: int

    @property
    def tolerates_empty_batch(self) -> bool:
        """Draws outside the support have no weight, and others come."""
        return True

    def is_finished(self, state: ImportanceState) -> bool:
        """Whether all rounds are done; the start is the first."""
        return state.iteration >= state.num_iterations

    def start(self, problem: Problem, rng: np.random.Generator) -> ImportanceState:
        """Nothing yet; the first round is drawn anew from the proposal."""
        nothing = np.empty((0, problem.dimension))
        first = self.proposal.sample(problem.num_particles, rng)
        return ImportanceState(nothing, np.empty(0), first, self.num_rounds, 0)

    def ask(self, state: ImportanceState, rng: np.random.Generator) -> Array:
        """A round of draws."""
        return state.proposed

    def tell(
        self, state: ImportanceState, points: Array, evaluation: Evaluation, rng: np.random.Generator
    ) -> tuple[ImportanceState, Info]:
        """Keep them all."""
        new_state = ImportanceState(
            points=np.concatenate([state.points, points]),
            log_prob=np.concatenate([state.log_prob, evaluation.log_prob]),
            proposed=self.proposal.sample(len(points), rng),
            num_iterations=state.num_iterations,
            iteration=state.iteration + 1,
        )
        return new_state, {"effective_sample_size": effective_sample_size(self.sample(new_state).weights)}

    def sample(self, state: ImportanceState) -> Sample:
        """All points, weighted."""
        log_weights = state.log_prob - self.proposal.log_prob(state.points)
        return Sample(state.points, normalize(log_weights), state.log_prob)
