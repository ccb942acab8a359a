"""Self-normalised importance sampling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.numerics.weights import effective_sample_size, normalize
from steinbox.samplers.base import Info, Sample
from steinbox.samplers.fixed_length import FixedLength, FixedLengthState


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
class ImportanceSampling(FixedLength):
    r"""Draws of a proposal :math:`\rho` with the weights :math:`p / \rho`, normalised.

    Every round draws as many points as there are particles, and all of them are returned.

    Parameters
    ----------
    num_iterations : int, optional
        Rounds. If not given, as many as the budget pays.
    proposal : distribution, optional
        The :math:`\rho`, an object with ``sample``, ``log_prob`` and ``dimension`` such as :class:`steinbox.Gaussian`;
        the initial distribution if not given (the particles of the first round are drawn from it then).

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

    def bind(self, initial: Initial) -> Self:
        """The initial distribution is the proposal if none was given."""
        return self if self.proposal is not None else replace(self, proposal=initial)

    def evals_needed(self, num_particles: int) -> int | None:
        """Those of all rounds."""
        return None if self.num_iterations is None else self.num_iterations * num_particles

    def finished(self, state: FixedLengthState) -> bool:
        """Whether all rounds are done; the start is the first."""
        return state.iteration >= state.num_iterations

    def start(self, particles: Array, max_evals: int, rng: np.random.Generator) -> ImportanceState:
        """Nothing yet; the first round is drawn anew from the proposal."""
        affordable = max_evals // len(particles)
        if affordable < 1:
            raise ValueError(f"a budget of max_evals={max_evals} does not pay a round of {len(particles)} draws")
        num_rounds = min(affordable, self.num_iterations or affordable)
        nothing = np.empty((0, particles.shape[1]))
        return ImportanceState(nothing, np.empty(0), self._distribution.sample(len(particles), rng), num_rounds, 0)

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
            proposed=self._distribution.sample(len(points), rng),
            num_iterations=state.num_iterations,
            iteration=state.iteration + 1,
        )
        draws = self.draws(new_state)
        info = {
            "effective_sample_size": effective_sample_size(draws.weights),
            "mean_log_prob": float(draws.weights @ np.where(draws.weights > 0, draws.log_prob, 0.0)),
        }
        return new_state, info

    def draws(self, state: ImportanceState) -> Sample:
        """All points, weighted."""
        log_weights = state.log_prob - self._distribution.log_prob(state.points)
        return Sample(state.points, normalize(log_weights), state.log_prob)

    @property
    def _distribution(self) -> Initial:
        if self.proposal is None:
            raise ValueError("bind the sampler to an initial distribution first, or give it a proposal")
        return self.proposal
