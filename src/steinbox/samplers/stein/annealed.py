r"""What the two annealed samplers share: the path from p0 to p."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from steinbox.common.arrays import Array
from steinbox.common.checks import require_component
from steinbox.samplers.annealing import Schedule, interpolate
from steinbox.samplers.base import Problem
from steinbox.samplers.stein.sampler import SteinSampler, SteinState
from steinbox.surrogates.base import Surrogate


@dataclass(frozen=True, kw_only=True)
class Annealed(SteinSampler):
    """A Stein sampler whose target moves from ``base`` to p; see the subclasses."""

    schedule: Schedule = field(default_factory=Schedule)
    base: Surrogate | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_component("schedule", self.schedule, "__call__", "Schedule()")
        if self.base is not None:
            require_component("base", self.base, "log_prob", "Gaussian(mean, std=1)")

    def plan(self, problem: Problem) -> Self:
        return replace(super().plan(problem), base=problem.initial if self.base is None else self.base)

    @property
    def path_base(self) -> Surrogate:
        """The p0 of the path, once it is known."""
        if self.base is None:
            raise ValueError("plan the sampler for a problem first, or give it a base")
        return self.base

    def temperature(self, state: SteinState) -> float:
        return self.schedule(state.iteration, state.num_iterations)

    def log_target(self, points: Array, log_prob: Array, temperature: float) -> Array:
        return interpolate(self.path_base.log_prob(points), log_prob, temperature)
