"""What the baselines share: a planned number of iterations, and a path from the initial distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_count
from steinbox.densities.initial import Initial
from steinbox.samplers.annealing import interpolate
from steinbox.samplers.base import Sample, no_use_for_an_archive


class FixedLengthState(Protocol):
    """A state that counts: the start is iteration 0."""

    @property
    def iteration(self) -> int:
        """How many batches were told."""
        ...

    @property
    def num_iterations(self) -> int:
        """How many are planned after the start."""
        ...


@dataclass(frozen=True, kw_only=True)
class FixedLength:
    """A sampler of values that evaluates all its particles at the start and at each of a number of iterations."""

    num_iterations: int | None = None

    def __post_init__(self) -> None:
        if self.num_iterations is not None:
            require_count("num_iterations", self.num_iterations)

    @property
    def needs_score(self) -> bool:
        """No: values are enough."""
        return False

    @property
    def tolerates_empty_batch(self) -> bool:
        """Particles whose proposals all lie outside the support stay where they are."""
        return True

    def bind(self, initial: Initial) -> Self:
        """Nothing is open."""
        return self

    def evals_needed(self, num_particles: int) -> int | None:
        """Those of all iterations and of the start."""
        return None if self.num_iterations is None else (self.num_iterations + 1) * num_particles

    def warm_start(self, state: FixedLengthState, points: Array, log_prob: Array) -> FixedLengthState:
        """Not so: values that others chose would spoil a chain."""
        raise no_use_for_an_archive(self)

    def plan(self, num_particles: int, max_evals: int) -> int:
        """How many iterations there will be."""
        affordable = max_evals // num_particles - 1
        if affordable < 1:
            raise ValueError(
                f"a budget of max_evals={max_evals} pays no iteration of {num_particles} particles: at least "
                f"{2 * num_particles} evaluations are needed"
            )
        return min(affordable, self.num_iterations or affordable)

    def converged(self, state: FixedLengthState) -> bool:
        """Never: more is always better."""
        return False

    def finished(self, state: FixedLengthState) -> bool:
        """Whether all planned iterations are done."""
        return state.iteration > state.num_iterations

    def progress(self, state: FixedLengthState) -> float:
        """The part of the planned iterations that is done."""
        return min(1.0, state.iteration / state.num_iterations)


@dataclass(frozen=True, kw_only=True)
class AnnealedFixedLength(FixedLength):
    r"""On the path :math:`p_0^{1-\alpha} p^\alpha` from ``base``, the initial distribution if not given."""

    base: Initial | None = None

    def bind(self, initial: Initial) -> Self:
        """The path starts at the initial distribution if no base was given."""
        return self if self.base is not None else replace(self, base=initial)

    @property
    def path_base(self) -> Initial:
        """The p0 of the path, once it is known."""
        if self.base is None:
            raise ValueError("bind the sampler to an initial distribution first, or give it a base")
        return self.base

    def log_path(self, points: Array, log_prob: Array, temperature: float) -> Array:
        """The log-density at this temperature, from the target's at the points."""
        return interpolate(self.path_base.log_prob(points), log_prob, temperature)


def equally_weighted(points: Array, log_prob: Array) -> Sample:
    """Particles of equal weight inside the support, and of none outside."""
    inside = np.isfinite(log_prob)
    return Sample(points, inside / max(1, inside.sum()), log_prob)
