"""What a sampler is: three pure functions of its state, and no sight of the user's function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.density import MixtureDensity
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation

Info: TypeAlias = Mapping[str, float | str]
"""What a person wants to see of one iteration; the loop collects it into the trace."""


class StalledError(RuntimeError):
    """A sampler cannot go on from what it was told; what it had before is still good."""


@dataclass(frozen=True, eq=False)
class WeightedSample:
    """All weighted points, from which the particles were chosen, and what they tell.

    ``mixture`` is the last proposal, ``doubts`` are reasons not to trust any of it, in plain words.
    """

    points: Array
    weights: Array
    log_prob: Array
    log_evidence: float
    log_evidence_error: float
    effective_sample_size: float
    pareto_shape: float
    mixture: MixtureDensity | None
    doubts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """A sampler's answer so far: points that were evaluated, their weights and log-densities.

    If they were chosen from a larger weighted pool, that comes with them.
    """

    particles: Array
    weights: Array
    log_prob: Array
    pool: WeightedSample | None = None


class Sampler(Protocol):
    """Ask, evaluate, tell.

    A sampler is immutable; its state is a dataclass of arrays and numbers, and holds all that the next step needs.
    """

    @property
    def needs_score(self) -> bool:
        """Whether the evaluations must bring the target's score."""
        ...

    @property
    def tolerates_empty_batch(self) -> bool:
        """Whether it can go on after a batch that lies outside the support as a whole, or failed."""
        ...

    def bind(self, initial: Initial) -> Self:
        """The same sampler with its open settings filled in from the initial distribution."""
        ...

    def evals_needed(self, num_particles: int) -> int | None:
        """Evaluations a whole run takes, if the sampler's own settings determine it."""
        ...

    def start(self, particles: Array, max_evals: int, rng: np.random.Generator) -> Any:
        """The state before the first evaluation; raises ValueError if the budget allows no iteration."""
        ...

    def warm_start(self, state: Any, points: Array, log_prob: Array) -> Any:
        """The state with values from earlier runs; raises ValueError if the sampler has no use for them."""
        ...

    def ask(self, state: Any, rng: np.random.Generator) -> Array:
        """Where to look next, (m, d)."""
        ...

    def tell(self, state: Any, points: Array, evaluation: Evaluation, rng: np.random.Generator) -> tuple[Any, Info]:
        """Learn from what was found there."""
        ...

    def converged(self, state: Any) -> bool:
        """Whether another step would change nothing."""
        ...

    def finished(self, state: Any) -> bool:
        """Whether all planned iterations are done."""
        ...

    def progress(self, state: Any) -> float:
        """The part of the planned run that is done, 0 to 1."""
        ...

    def draws(self, state: Any) -> Sample:
        """The answer so far."""
        ...


@runtime_checkable
class Extendable(Protocol):
    """A sampler whose runs can go on with a larger budget, even from their end."""

    def extended(self, state: Any, max_evals: int, rng: np.random.Generator) -> Any:
        """The state, at whatever point of its run, with a larger budget."""
        ...


def no_use_for_an_archive(sampler: object) -> ValueError:
    """What to raise where values from earlier runs cannot help."""
    return ValueError(f"{type(sampler).__name__} builds no surrogate and has no use for archive=; leave it out")
