"""The log of an asynchronous run: all that chance, the chance of time, had a say in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinbox.common.arrays import IntegerArray
from steinbox.common.serialization import serializable


@serializable("run-open-batch")
@dataclass(frozen=True, eq=False)
class OpenBatch:
    """A batch, and the numbers (m,) of its points that went out and were not told; −1 of those that are to go out.

    These go out in the order of their ``ranks`` (m,).
    """

    batch: Any
    numbers: IntegerArray
    ranks: IntegerArray


@serializable("run-arrivals")
@dataclass(frozen=True, eq=False)
class Arrivals:
    """In which order evaluations came back, as far as it matters: the same seed and this log give the same particles.

    Points are numbered as they go out. A run is a row of tells, each of which learns from what came back.

    Attributes
    ----------
    num_told : (k,) array
        Points told at each tell.
    numbers : (m,) array
        Their numbers, tell by tell.
    num_before, num_after : (k,) arrays
        Points that had gone out when it began, and when what was learned from it was there.

    Examples
    --------
    >>> import steinbox as sb
    >>> problem = {"log_prob": lambda x: -(x @ x), "initial": sb.Gaussian([0.0, 0.0], std=3), "num_particles": 20}
    >>> result = sb.sample(**problem, max_evals=500, asynchronous=True, seed=0)
    >>> again = sb.sample(**problem, max_evals=500, asynchronous=result.arrivals, seed=0)
    >>> bool((again.particles == result.particles).all())
    True
    """

    num_told: IntegerArray
    numbers: IntegerArray
    num_before: IntegerArray
    num_after: IntegerArray

    @classmethod
    def empty(cls) -> Arrivals:
        """Of a run that has not begun."""
        return cls(*(np.empty(0, dtype=np.int64) for _ in range(4)))

    def __len__(self) -> int:
        return len(self.num_told)

    def told(self, k: int) -> IntegerArray:
        """The numbers of the k-th tell."""
        end = int(self.num_told[: k + 1].sum())
        return self.numbers[end - int(self.num_told[k]) : end]

    def add(self, numbers: IntegerArray, num_before: int, num_after: int) -> Arrivals:
        """With one more tell."""
        return Arrivals(
            np.append(self.num_told, len(numbers)),
            np.concatenate([self.numbers, numbers]),
            np.append(self.num_before, num_before),
            np.append(self.num_after, num_after),
        )

    def __repr__(self) -> str:
        return f"<steinbox.Arrivals: {len(self.numbers):,} evaluations, told in {len(self):,} portions>"
