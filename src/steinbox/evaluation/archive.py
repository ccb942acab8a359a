"""The archive of evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable


@serializable("evaluation-archive")
@dataclass(frozen=True, eq=False)
class Archive:
    """Points, their log-densities, and the time each took; failed evaluations are not among them.

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

    def __post_init__(self) -> None:
        for name in ("points", "log_prob", "seconds"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        num_points = len(self.log_prob)
        if np.ndim(self.points) != 2 or len(self.points) != num_points or np.shape(self.seconds) != (num_points,):
            raise ValueError(
                "Archive expects points (m, d), log_prob (m,) and seconds (m,), got shapes "
                f"{np.shape(self.points)}, {np.shape(self.log_prob)}, {np.shape(self.seconds)}"
            )

    def __len__(self) -> int:
        return len(self.log_prob)

    def first(self, num_points: int) -> Archive:
        """The first ``num_points`` evaluations."""
        return Archive(self.points[:num_points], self.log_prob[:num_points], self.seconds[:num_points])

    @classmethod
    def join(cls, parts: Sequence[Archive]) -> Archive:
        """All evaluations of several archives, in order."""
        return cls(
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.log_prob for part in parts]),
            np.concatenate([part.seconds for part in parts]),
        )

    def save(self, path: str | Path) -> Path:
        """Write it to one ``.npz`` file of arrays; returns the path."""
        path = Path(path)
        with path.open("wb") as file:
            np.savez_compressed(file, points=self.points, log_prob=self.log_prob, seconds=self.seconds)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Archive:
        """Read what :meth:`save` wrote. Loading runs no code from the file."""
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(**{name: file[name] for name in ("points", "log_prob", "seconds")})
        except FileNotFoundError:
            raise
        except Exception as error:
            raise ValueError(f"{path} is not an archive that steinbox saved: {error}") from error

    def __repr__(self) -> str:
        return f"<steinbox.Archive: {len(self):,} evaluations in {self.points.shape[1]} dimensions>"
