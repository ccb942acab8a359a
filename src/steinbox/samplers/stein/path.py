r"""Which target a move aims at: p itself, or :math:`p_t \propto p_0^{1-\alpha_t} p^{\alpha_t}` on the way to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steinbox.common.arrays import Array
from steinbox.common.checks import require_component
from steinbox.samplers.annealing import Schedule, interpolate
from steinbox.surrogates.base import Surrogate
from steinbox.surrogates.flat import Flat


class Path(Protocol):
    """A target for every iteration, from values and scores of p."""

    def temperature(self, iteration: int, num_iterations: int) -> float:
        r"""The :math:`\alpha_{t+1}` that this iteration (0-based) of so many aims at."""
        ...

    def log_target(self, points: Array, log_prob: Array, temperature: float) -> Array:
        """The log-density at this temperature, from the target's values at the points."""
        ...

    def score(self, points: Array, score: Array | None, temperature: float) -> tuple[Array | None, float]:
        """What drives at this temperature, from the target's scores at the points, and how strong the repulsion is."""
        ...


@dataclass(frozen=True)
class NoPath:
    """The target itself, from the first move to the last."""

    def temperature(self, iteration: int, num_iterations: int) -> float:
        return 1.0

    def log_target(self, points: Array, log_prob: Array, temperature: float) -> Array:
        return log_prob

    def score(self, points: Array, score: Array | None, temperature: float) -> tuple[Array | None, float]:
        return score, 1.0


@dataclass(frozen=True)
class AnnealedPath:
    """From ``base`` to the target, at the temperatures of a schedule."""

    base: Surrogate
    schedule: Schedule

    def temperature(self, iteration: int, num_iterations: int) -> float:
        return self.schedule(iteration, num_iterations)

    def log_target(self, points: Array, log_prob: Array, temperature: float) -> Array:
        return interpolate(self.base.log_prob(points), log_prob, temperature)

    def score(self, points: Array, score: Array | None, temperature: float) -> tuple[Array | None, float]:
        if score is None:
            return None, 1.0
        if isinstance(self.base, Flat):  # the direction of p^α, divided by α
            return score, 1 / temperature
        return interpolate(self.base.score(points), score, temperature), 1.0


def check_path(schedule: object, base: object) -> None:
    """Refuse a schedule or base of the wrong kind when the settings are made."""
    require_component("schedule", schedule, "__call__", "Schedule()")
    if base is not None:
        require_component("base", base, "log_prob", "Gaussian(mean, std=1)")
