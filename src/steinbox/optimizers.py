r"""Steps along the Stein direction: Adam, Adagrad and plain steps, as init / update pairs on arrays.

Adaptive optimisers divide a step by a running root mean square of past directions. Over what that mean is taken matters
here: per coordinate (the usual Adam) every coordinate of every particle moves at full speed, even where its force is
only noise, and isolated particles that feel nothing but a faint repulsion run away. ``normalization`` takes the mean
over each particle's coordinates (``"particle"``) or over all particles (``"shared"``), which keeps the proportions of
the forces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np

from steinbox.types import Array

Normalization = Literal["coordinate", "particle", "shared"]
Decay: TypeAlias = Callable[[float], float]


@dataclass(frozen=True, eq=False)
class OptimizerState:
    """Running means of the direction and of its square, and the number of steps taken."""

    first: Array
    second: Array
    num_steps: int = 0


class Optimizer(Protocol):
    """Turns a direction into a step."""

    def start(self, shape: tuple[int, int]) -> OptimizerState:
        """The state before the first step."""
        ...

    def step_size(self, progress: float) -> float:
        """The learning rate at this part of the run, 0 to 1."""
        ...

    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        """The step along this direction, and the state after it."""
        ...


@dataclass(frozen=True)
class ConstantRate:
    """The learning rate stays as it is."""

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
        part = float(np.clip((progress - self.start) / (1 - self.start), 0, 1))
        return float(self.final + (1 - self.final) * (1 + np.cos(np.pi * part)) / 2)


@dataclass(frozen=True)
class Plain:
    r"""Plain steps :math:`x \leftarrow x + \epsilon \phi(x)`."""

    learning_rate: float = 0.1
    decay: Decay = field(default_factory=ConstantRate)

    def __post_init__(self) -> None:
        _check_rate(self.learning_rate)

    def start(self, shape: tuple[int, int]) -> OptimizerState:
        return OptimizerState(np.zeros(shape), np.zeros(shape))

    def step_size(self, progress: float) -> float:
        return self.learning_rate * self.decay(progress)

    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        step = self.step_size(progress) * direction
        return step, OptimizerState(state.first, state.second, state.num_steps + 1)


@dataclass(frozen=True)
class Adam:
    r"""Adam (Kingma & Ba, 2015), the paper's optimiser:

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

    learning_rate: float = 0.1
    decay: Decay = field(default_factory=ConstantRate)
    normalization: Normalization = "coordinate"
    momentum: float = 0.9
    memory: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _check_rate(self.learning_rate)
        _check_normalization(self.normalization)

    def start(self, shape: tuple[int, int]) -> OptimizerState:
        return OptimizerState(np.zeros(shape), np.zeros(shape))

    def step_size(self, progress: float) -> float:
        return self.learning_rate * self.decay(progress)

    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        square = _mean_square(direction, self.normalization)
        first = self.momentum * state.first + (1 - self.momentum) * direction
        second = self.memory * state.second + (1 - self.memory) * square
        num_steps = state.num_steps + 1
        unbiased_first = first / (1 - self.momentum**num_steps)
        unbiased_second = second / (1 - self.memory**num_steps)
        step = self.step_size(progress) * unbiased_first / (np.sqrt(unbiased_second) + self.epsilon)
        return step, OptimizerState(first, second, num_steps)


@dataclass(frozen=True)
class Adagrad:
    r"""Adagrad with a decaying mean, as in the original SVGD code:

    .. math:: v \leftarrow \beta v + (1 - \beta) \overline{\phi^2}, \qquad
              x \leftarrow x + \epsilon\, \phi / (\sqrt v + \eta),

    where v starts as the first :math:`\overline{\phi^2}`.
    """

    learning_rate: float = 0.1
    decay: Decay = field(default_factory=ConstantRate)
    normalization: Normalization = "coordinate"
    memory: float = 0.9
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        _check_rate(self.learning_rate)
        _check_normalization(self.normalization)

    def start(self, shape: tuple[int, int]) -> OptimizerState:
        return OptimizerState(np.zeros(shape), np.zeros(shape))

    def step_size(self, progress: float) -> float:
        return self.learning_rate * self.decay(progress)

    def step(self, direction: Array, state: OptimizerState, progress: float) -> tuple[Array, OptimizerState]:
        square = _mean_square(direction, self.normalization)
        second = square if state.num_steps == 0 else self.memory * state.second + (1 - self.memory) * square
        step = self.step_size(progress) * direction / (np.sqrt(second) + self.epsilon)
        return step, OptimizerState(state.first, second, state.num_steps + 1)


def _mean_square(direction: Array, normalization: Normalization) -> Array:
    square = direction**2
    if normalization == "coordinate":
        return np.asarray(square)
    axis = 1 if normalization == "particle" else None
    return np.broadcast_to(square.mean(axis=axis, keepdims=True), direction.shape)


def _check_rate(learning_rate: float) -> None:
    if not (np.isfinite(learning_rate) and learning_rate > 0):
        raise ValueError(f"expected a positive learning rate, got {learning_rate}")


def _check_normalization(normalization: str) -> None:
    if normalization not in ("coordinate", "particle", "shared"):
        raise ValueError(f"expected normalization 'coordinate', 'particle' or 'shared', got {normalization!r}")
