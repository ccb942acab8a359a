r"""The path :math:`p_t \propto p_0^{1 - \alpha_t} p^{\alpha_t}`, its temperatures, and the target of a move on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_component
from steinbox.numerics.weights import temper
from steinbox.surrogates.base import Surrogate
from steinbox.surrogates.flat import Flat


@dataclass(frozen=True)
class Schedule:
    r"""Temperatures :math:`0 < \alpha_1 \le \dots \le \alpha_T = 1`,

    .. math:: \alpha_l = \min\big(1, (l / (f L))^{\text{power}}\big), \qquad l = 1, \dots, L,

    where L is the number of temperatures that fit into the run. ``Schedule(fraction=1, power=1)`` is
    linear to the last step; otherwise the last ``1 - fraction`` of the run refines the particles at the target itself.

    Parameters
    ----------
    fraction : float
        The part f of the run in which the temperature rises.
    power : float
        Above one, the path leaves p0 more slowly.
    steps_per_temperature : int
        The m of Algorithm 2.
    share : float
        Of the particles: the effective sample size that weights by the next temperature over this one have to leave.
        A smaller step is made where they do not, because the start is much wider than the target; from then on the
        temperature rises at least geometrically, so that it reaches one when it was meant to. At zero, all temperatures
        are set beforehand.

    Examples
    --------
    >>> schedule = Schedule(fraction=1, power=1, steps_per_temperature=2)
    >>> [schedule(iteration, num_iterations=4) for iteration in range(4)]
    [0.5, 0.5, 1.0, 1.0]
    """

    fraction: float = 0.6
    power: float = 2.0
    steps_per_temperature: int = 1
    share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"Schedule expects a fraction in (0, 1], got {self.fraction}")
        if not self.power > 0:
            raise ValueError(f"Schedule expects a positive power, got {self.power}")
        if self.steps_per_temperature < 1:
            raise ValueError(f"Schedule expects at least one step per temperature, got {self.steps_per_temperature}")
        if not 0 <= self.share < 1:
            raise ValueError(f"Schedule expects a share in [0, 1), got {self.share}")

    def __call__(self, iteration: int, num_iterations: int) -> float:
        """The temperature that this iteration (0-based) of so many aims at."""
        num_temperatures = max(1, num_iterations // self.steps_per_temperature)
        index = iteration // self.steps_per_temperature + 1
        return float(min(1.0, (index / (self.fraction * num_temperatures)) ** self.power))

    def after(self, before: float, iteration: int, num_iterations: int, log_ratio: Array) -> float:
        r"""The temperature of this iteration, after another one.

        Parameters
        ----------
        before : float
            The temperature of the particles.
        iteration, num_iterations : int
        log_ratio : (n,) array
            :math:`\log(p / p_0)` at them; −inf outside the support.
        """
        planned, inside = self(iteration, num_iterations), np.isfinite(log_ratio)
        if self.share == 0 or planned <= before or not inside.any():
            return planned
        if before > 0 and iteration % self.steps_per_temperature > 0:
            return before
        step = temper(log_ratio[inside], self.share * inside.sum(), max_power=planned - before)
        if step == planned - before:
            return planned
        num_left = self.fraction * (num_iterations // self.steps_per_temperature)
        num_left -= iteration // self.steps_per_temperature
        in_time = before ** (1 - 1 / num_left) if num_left > 1 else 1.0
        return float(min(planned, max(before + step, in_time)))


def interpolate(base: Array, target: Array, temperature: float) -> Array:
    r"""The geometric path in logarithms, :math:`(1 - \alpha) \log p_0 + \alpha \log p`, for values or scores.

    At :math:`\alpha = 1` it is the target exactly, whatever the base is (even −inf).

    Examples
    --------
    >>> import numpy as np
    >>> interpolate(np.array([0.0, -np.inf]), np.array([2.0, 2.0]), 1.0)
    array([2., 2.])
    """
    if temperature == 1.0:
        return target
    return np.asarray((1 - temperature) * base + temperature * target)


def retemper(log_target: Array, log_prob: Array, temperature: float, other: float) -> Array:
    """The log-density of the path at another temperature, from that at one temperature and from the target's.

    From the target itself, whose values say nothing of the base, there is no way back: NaN.

    Examples
    --------
    >>> import numpy as np
    >>> base, target = np.array([1.0]), np.array([3.0])
    >>> retemper(interpolate(base, target, 0.5), target, 0.5, 0.25)
    array([1.5])
    """
    if other in (temperature, 1.0):
        return log_target if other == temperature else log_prob
    if temperature == 1.0:
        return np.full(len(log_target), np.nan)
    inside = np.isfinite(log_prob) & np.isfinite(log_target)
    target = np.where(inside, log_prob, 0.0)
    base = (np.where(inside, log_target, 0.0) - temperature * target) / (1 - temperature)
    return np.where(inside, interpolate(base, target, other), -np.inf)


def path_warnings(temperature: float) -> tuple[str, ...]:
    """What is wrong with particles of this temperature; nothing if it is that of the target."""
    if temperature >= 1:
        return ()
    return (
        f"The run ended at temperature {temperature:.2f}: the particles represent a blend of the initial distribution "
        "and the target.",
    )


class Path(Protocol):
    """A target for every iteration, from values and scores of p."""

    def temperature(self, before: float, iteration: int, num_iterations: int, log_ratio: Array) -> float:
        r"""The :math:`\alpha_{t+1}` that this iteration (0-based) of so many aims at; see :meth:`Schedule.after`."""
        ...

    def log_base(self, points: Array) -> Array:
        """The log-density at temperature zero."""
        ...

    def score(self, points: Array, score: Array | None, temperature: float) -> tuple[Array | None, float]:
        """What drives at this temperature, from the target's scores at the points, and how strong the repulsion is."""
        ...


@dataclass(frozen=True)
class NoPath:
    """The target itself, from the first move to the last."""

    def temperature(self, before: float, iteration: int, num_iterations: int, log_ratio: Array) -> float:
        return 1.0

    def log_base(self, points: Array) -> Array:
        return np.zeros(len(points))

    def score(self, points: Array, score: Array | None, temperature: float) -> tuple[Array | None, float]:
        return score, 1.0


@dataclass(frozen=True)
class AnnealedPath:
    """From ``base`` to the target, at the temperatures of a schedule."""

    base: Surrogate
    schedule: Schedule | Callable[[int, int], float]

    def temperature(self, before: float, iteration: int, num_iterations: int, log_ratio: Array) -> float:
        if not isinstance(self.schedule, Schedule):
            return self.schedule(iteration, num_iterations)
        return self.schedule.after(before, iteration, num_iterations, log_ratio)

    def log_base(self, points: Array) -> Array:
        return self.base.log_prob(points)

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
