r"""What a surrogate :math:`\rho` is: values and scores; and what builds one from values of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array


@runtime_checkable
class Surrogate(Protocol):
    r"""Any :math:`\rho` with a log-density (up to a constant) and its gradient. Write your own if you like."""

    def log_prob(self, points: Array, /) -> Array:
        """Log-density (n,) at the points (n, d)."""
        ...

    def score(self, points: Array, /) -> Array:
        """Its gradient (n, d) at the points (n, d)."""
        ...


@runtime_checkable
class Builder(Protocol):
    """Builds a surrogate at every step from the target's values at the particles, as Algorithm 3 does."""

    @property
    def num_history(self) -> int:
        """How many past iterations' particles it wants beside the current ones."""
        ...

    def build(self, points: Array, log_target: Array, num_current: int) -> Surrogate:
        """The surrogate for these values.

        Parameters
        ----------
        points : (m, d) array
            The current particles first, then those of past iterations.
        log_target : (m,) array
            Values of the (annealed) log-target; −inf outside its support or where it failed.
        num_current : int
            How many of the points are current particles.
        """
        ...


@dataclass(frozen=True)
class Given:
    """The builder of a surrogate that never changes, as in Algorithm 1."""

    surrogate: Surrogate
    num_history: int = 0

    def build(self, points: Array, log_target: Array, num_current: int) -> Surrogate:
        return self.surrogate


def as_builder(surrogate: object) -> Builder:
    """A builder from a builder or from a surrogate; anything else is a TypeError that says what was expected."""
    if isinstance(surrogate, type):
        raise TypeError(
            f"expected a surrogate object, got the class {surrogate.__name__}; write {surrogate.__name__}()"
        )
    if isinstance(surrogate, Builder):
        return surrogate
    if isinstance(surrogate, Surrogate):
        return Given(surrogate)
    raise TypeError(
        "expected a surrogate: an object with log_prob(points) and score(points), or one of steinbox.surrogates; "
        f"got {type(surrogate).__name__}"
    )


@runtime_checkable
class Joint(Protocol):
    """A surrogate that has log-densities and scores at the cost of one of them."""

    def log_prob_and_score(self, points: Array, /) -> tuple[Array, Array]:
        """Both at the points."""
        ...


def evaluate(surrogate: Surrogate, points: Array) -> tuple[Array, Array]:
    """Log-densities and scores at the points, their shapes checked: the surrogate may be the user's own."""
    if isinstance(surrogate, Joint):
        return surrogate.log_prob_and_score(points)
    return as_values(surrogate.log_prob(points), surrogate.score(points), points)


def as_values(log_prob: npt.ArrayLike, score: npt.ArrayLike, points: Array) -> tuple[Array, Array]:
    """What a surrogate returned at the points, as arrays of the right shapes."""
    log_prob, score = np.asarray(log_prob, dtype=np.float64), np.asarray(score, dtype=np.float64)
    if log_prob.shape != (len(points),):
        raise ValueError(f"expected the surrogate's log_prob to have shape ({len(points)},), got {log_prob.shape}")
    if score.shape != points.shape:
        raise ValueError(f"expected the surrogate's score to have shape {points.shape}, got {score.shape}")
    return log_prob, score
