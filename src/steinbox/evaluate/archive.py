"""Every evaluation that was paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steinbox.types import Array


@dataclass(frozen=True, eq=False)
class Archive:
    """Points, their log-densities, and what each cost; failed evaluations are not among them.

    Attributes
    ----------
    points : (m, d) array
        In the user's units.
    log_prob : (m,) array
        −inf outside the support.
    seconds : (m,) array
        The time each call took, where it ran.
    """

    points: Array
    log_prob: Array
    seconds: Array

    def __len__(self) -> int:
        return len(self.log_prob)

    def first(self, num_points: int) -> Archive:
        """The first so many evaluations."""
        return Archive(self.points[:num_points], self.log_prob[:num_points], self.seconds[:num_points])

    @classmethod
    def join(cls, parts: Sequence[Archive]) -> Archive:
        """All evaluations of several archives, in order."""
        return cls(
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.log_prob for part in parts]),
            np.concatenate([part.seconds for part in parts]),
        )

    def __repr__(self) -> str:
        return f"<steinbox.Archive: {len(self):,} evaluations in {self.points.shape[1]} dimensions>"
