"""What samplers with a planned number of iterations share, and those on a path from the initial distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from steinbox.common.checks import require_count
from steinbox.densities.initial import Initial
from steinbox.samplers.base import Method, Problem, Sampler


class CountedState(Protocol):
    """A state that counts: the start is iteration 0."""

    @property
    def iteration(self) -> int:
        """How many batches were evaluated."""
        ...

    @property
    def num_iterations(self) -> int:
        """How many are planned after the start."""
        ...


Counted = TypeVar("Counted", bound=CountedState)


@dataclass(frozen=True, kw_only=True)
class FixedLength(Method[Counted]):
    """A method that evaluates all its particles at the start and at each of a number of iterations."""

    num_iterations: int | None = None

    def __post_init__(self) -> None:
        if self.num_iterations is not None:
            require_count("num_iterations", self.num_iterations)

    def evals_needed(self, num_particles: int) -> int | None:
        """Those of all iterations and of the start."""
        return None if self.num_iterations is None else (self.num_iterations + 1) * num_particles

    def count_iterations(self, problem: Problem) -> int:
        """How many iterations there will be: as many as were asked for, if the budget allows them."""
        num_affordable = problem.max_evals // problem.num_particles - 1
        if num_affordable < 1:
            raise ValueError(
                f"a budget of max_evals={problem.max_evals} allows no iteration: {problem.num_particles} particles are "
                f"evaluated at the start and once more, so at least {2 * problem.num_particles} evaluations are needed"
            )
        return min(num_affordable, self.num_iterations or num_affordable)


class CountingSampler(Sampler[Counted]):
    """A sampler that is finished when its state has counted all planned iterations."""

    def is_finished(self, state: Counted) -> bool:
        """Whether all planned iterations are done."""
        return state.iteration > state.num_iterations

    def progress(self, state: Counted) -> float:
        """The part of the planned iterations that is done."""
        return min(1.0, state.iteration / state.num_iterations)


@dataclass(frozen=True, kw_only=True)
class AnnealedFixedLength(FixedLength[Counted]):
    r"""On the path :math:`p_0^{1-\alpha} p^\alpha` from ``base``, the initial distribution if not given."""

    base: Initial | None = None

    def path_base(self, problem: Problem) -> Initial:
        """The p0 of the path."""
        return problem.initial if self.base is None else self.base
