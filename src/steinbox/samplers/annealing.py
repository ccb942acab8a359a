r"""The path :math:`p_t \propto p_0^{1 - \alpha_t} p^{\alpha_t}` and the schedules of its temperatures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array


@dataclass(frozen=True)
class Schedule:
    r"""Temperatures :math:`0 < \alpha_1 \le \dots \le \alpha_T = 1` set beforehand,

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

    Examples
    --------
    >>> schedule = Schedule(fraction=1, power=1, steps_per_temperature=2)
    >>> [schedule(iteration, num_iterations=4) for iteration in range(4)]
    [0.5, 0.5, 1.0, 1.0]
    """

    fraction: float = 0.6
    power: float = 2.0
    steps_per_temperature: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"Schedule expects a fraction in (0, 1], got {self.fraction}")
        if not self.power > 0:
            raise ValueError(f"Schedule expects a positive power, got {self.power}")
        if self.steps_per_temperature < 1:
            raise ValueError(f"Schedule expects at least one step per temperature, got {self.steps_per_temperature}")

    def __call__(self, iteration: int, num_iterations: int) -> float:
        """The temperature that this iteration (0-based) of so many aims at."""
        num_temperatures = max(1, num_iterations // self.steps_per_temperature)
        index = iteration // self.steps_per_temperature + 1
        return float(min(1.0, (index / (self.fraction * num_temperatures)) ** self.power))


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


def path_warnings(temperature: float) -> tuple[str, ...]:
    """What is wrong with particles of this temperature; nothing if it is that of the target."""
    if temperature >= 1:
        return ()
    return (
        f"The run ended at temperature {temperature:.2f}: the particles represent a blend of the initial distribution "
        "and the target.",
    )
