r"""Steps along the Stein direction: Adam, Adagrad and plain steps, as init / update pairs on arrays.

Adaptive optimizers divide a step by a running root mean square of past directions. Over what that mean is taken matters
here: per coordinate (the usual Adam) every coordinate of every particle moves at full speed, even where its force is
only noise, and isolated particles that feel nothing but a faint repulsion drift away. ``normalization`` takes the mean
over each particle's coordinates (``"particle"``) or over all particles (``"shared"``), which keeps the proportions of
the forces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable

Normalization = Literal["coordinate", "particle", "shared"]
Decay: TypeAlias = Callable[[float], float]


@serializable("optimizer-state")
@dataclass(frozen=True, eq=False)
class OptimizerState:
    """Running means of the direction and of its square, and the number of steps taken."""

    first: Array
    second: Array
    num_steps: int = 0


@dataclass(frozen=True)
class ConstantRate:
    """A constant learning rate."""

    def __call__(self, progress: float) -> float:
        return 1.0


@dataclass(frozen=True)
class CosineDecay:
    r"""The factor falls from 1 to ``final`` along half a cosine, from ``start`` of the run to its end.

    Examples
    --------
    >>> decay = CosineDecay(start=0.5)
    >>> decay(0.2), round(decay(0.75), 2), decay(1.0)
    (1.0, 0.5, 0.0)
    """

    start: float = 0.0
    final: float = 0.0

    def __call__(self, progress: float) -> float:
        fraction = float(np.clip((progress - self.start) / (1 - self.start), 0, 1))
        return float(self.final + (1 - self.final) * (1 + np.cos(np.pi * fraction)) / 2)


@dataclass(frozen=True)
class Optimizer(ABC):
    """Turns a direction into a step."""

    learning_rate: float = 0.1
    decay: Decay = field(default_factory=ConstantRate)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"expected a positive learning rate, got {self.learning_rate}")

    def start(self, shape: tuple[int, int]) -> OptimizerState:
        """The state before the first step."""
        return OptimizerState(np.zeros(shape), np.zeros(shape))

    def step_size(self, progress: float) -> float:
        """The learning rate at this fraction of the run, 0 to 1."""
        return self.learning_rate * self.decay(progress)

    @abstractmethod
    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        """The step along this direction, and the state after it."""


@dataclass(frozen=True)
class Plain(Optimizer):
    r"""Plain steps :math:`x \leftarrow x + \epsilon \phi(x)`."""

    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        return self.step_size(progress) * direction, replace(state, num_steps=state.num_steps + 1)


@dataclass(frozen=True)
class _NormalizedOptimizer(Optimizer):
    """An optimizer that divides by a running root mean square."""

    normalization: Normalization = "coordinate"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalization not in ("coordinate", "particle", "shared"):
            raise ValueError(f"expected normalization 'coordinate', 'particle' or 'shared', got {self.normalization!r}")

    def mean_square(self, direction: Array) -> Array:
        """The square of the direction, averaged over what ``normalization`` names."""
        square = np.asarray(direction**2)
        if self.normalization == "coordinate":
            return square
        axis = 1 if self.normalization == "particle" else None
        return np.broadcast_to(square.mean(axis=axis, keepdims=True), direction.shape)


@dataclass(frozen=True)
class Adam(_NormalizedOptimizer):
    r"""Adam (Kingma & Ba, 2015), the paper's optimizer:

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) \phi, \quad
              v \leftarrow \beta_2 v + (1 - \beta_2) \overline{\phi^2}, \quad
              x \leftarrow x + \epsilon\, \hat m / (\sqrt{\hat v} + \eta),

    with the bar over the square meaning the mean that ``normalization`` names.

    Examples
    --------
    >>> import numpy as np
    >>> adam = Adam(learning_rate=0.1)
    >>> step, state = adam.step(np.array([[3.0, -1e-3]]), adam.start((1, 2)), progress=0.0)
    >>> step.round(3)
    array([[ 0.1, -0.1]])
    """

    momentum: float = 0.9
    memory: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_fraction("momentum", self.momentum)
        _require_fraction("memory", self.memory)

    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        square = self.mean_square(direction)
        first = self.momentum * state.first + (1 - self.momentum) * direction
        second = self.memory * state.second + (1 - self.memory) * square
        num_steps = state.num_steps + 1
        unbiased_first = first / (1 - self.momentum**num_steps)
        unbiased_second = second / (1 - self.memory**num_steps)
        step = self.step_size(progress) * unbiased_first / (np.sqrt(unbiased_second) + self.epsilon)
        return step, OptimizerState(first, second, num_steps)


@dataclass(frozen=True)
class Adagrad(_NormalizedOptimizer):
    r"""Adagrad with a decaying mean, as in the original SVGD code:

    .. math:: v \leftarrow \beta v + (1 - \beta) \overline{\phi^2}, \qquad
              x \leftarrow x + \epsilon\, \phi / (\sqrt v + \eta),

    where v starts as the first :math:`\overline{\phi^2}`.
    """

    memory: float = 0.9
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_fraction("memory", self.memory)

    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        square = self.mean_square(direction)
        second = square if state.num_steps == 0 else self.memory * state.second + (1 - self.memory) * square
        step = self.step_size(progress) * direction / (np.sqrt(second) + self.epsilon)
        return step, OptimizerState(state.first, second, state.num_steps + 1)


def _require_fraction(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"expected {name} in [0, 1), got {value}")
