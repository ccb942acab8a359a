"""The archive of evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.files import load_arrays, save_arrays
from steinbox.common.serialization import serializable
from steinbox.evaluation.derived import join
from steinbox.evaluation.faults import Failure, count_failures

_SAME_RTOL = 1e-9  # by which a coordinate may change on the way through the bounds and back


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
    derived : dict of str to (m, …) array
        What the function returned beside its log-density; NaN where it returned none.

    Examples
    --------
    >>> import steinbox as sb
    >>> start = sb.Gaussian([0.0, 0.0], std=2)
    >>> earlier = sb.sample(lambda x: -0.5 * float(x @ x), start, num_particles=20, max_evals=400, seed=0).archive
    >>> earlier.points.shape, earlier.log_prob.shape
    ((400, 2), (400,))
    >>> later = sb.sample(lambda x: -0.5 * float(x @ x), start, archive=earlier, num_particles=20, max_evals=400)
    """

    points: Array
    log_prob: Array
    seconds: Array
    derived: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("points", "log_prob", "seconds"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        num_points = len(self.log_prob)
        if any(len(column) != num_points for column in self.derived.values()):
            raise ValueError(f"Archive expects {num_points} rows of each derived quantity")
        if np.ndim(self.points) != 2 or len(self.points) != num_points or np.shape(self.seconds) != (num_points,):
            raise ValueError(
                "Archive expects points (m, d), log_prob (m,) and seconds (m,), got shapes "
                f"{np.shape(self.points)}, {np.shape(self.log_prob)}, {np.shape(self.seconds)}"
            )

    def __len__(self) -> int:
        return len(self.log_prob)

    @classmethod
    def empty(cls, dimension: int) -> Archive:
        """No evaluations yet."""
        return cls(np.empty((0, dimension)), np.empty(0), np.empty(0))

    def first(self, num_points: int) -> Archive:
        """The first ``num_points`` evaluations."""
        derived = {name: column[:num_points] for name, column in self.derived.items()}
        return Archive(self.points[:num_points], self.log_prob[:num_points], self.seconds[:num_points], derived)

    def find(self, points: Array) -> dict[str, Array]:
        """The derived quantities at points that were evaluated; NaN at others.

        Points that have been through the bounds and back may differ in their last digits, so that the nearest is
        taken, in units of the standard deviation, if it is the same to nine digits.
        """
        from scipy.spatial import KDTree

        if not self.derived:
            return {}
        scale = np.maximum(self.points.std(axis=0), np.finfo(np.float64).tiny)
        rows = KDTree(self.points / scale).query(points / scale)[1]
        is_same = np.isclose(self.points[rows], points, rtol=_SAME_RTOL, atol=0.0).all(axis=1)
        found = {name: column[rows] for name, column in self.derived.items()}
        for column in found.values():
            column[~is_same] = np.nan
        return found

    @classmethod
    def join(cls, parts: Sequence[Archive]) -> Archive:
        """All evaluations of several archives, in order."""
        return cls(
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.log_prob for part in parts]),
            np.concatenate([part.seconds for part in parts]),
            join([(len(part), part.derived) for part in parts]),
        )

    def save(self, path: str | Path) -> Path:
        """Write it to one ``.npz`` file of arrays; returns the path."""
        save_arrays(path, self.to_arrays())
        return Path(path)

    def to_arrays(self) -> dict[str, Array]:
        """All of it by names, as :meth:`from_arrays` reads it."""
        derived = {f"derived/{name}": column for name, column in self.derived.items()}
        return {"points": self.points, "log_prob": self.log_prob, "seconds": self.seconds} | derived

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Archive:
        """An archive from what :meth:`to_arrays` returned."""
        derived = {name.removeprefix("derived/"): arrays[name] for name in arrays if name.startswith("derived/")}
        return cls(arrays["points"], arrays["log_prob"], arrays["seconds"], derived)

    @classmethod
    def load(cls, path: str | Path) -> Archive:
        """Read what :meth:`save` wrote. Loading runs no code from the file."""
        try:
            return cls.from_arrays(load_arrays(path))
        except FileNotFoundError:
            raise
        except Exception as error:
            raise ValueError(f"{path} is not an archive that steinbox saved: {error}") from error

    def __repr__(self) -> str:
        return f"<steinbox.Archive: {len(self):,} evaluations in {self.points.shape[1]} dimensions>"


def require_counts(num_evals: object, failures: Mapping[str, Failure], archive: Archive) -> None:
    """Refuse counters of a file that cannot be true: every evaluation failed or is in the archive."""
    num_failures, num_archived = count_failures(failures), len(archive)
    counts = [num_evals, *(failure.count for failure in failures.values())]
    is_possible = all(type(count) is int and count >= 0 for count in counts)
    if not is_possible or num_evals != num_failures + num_archived:
        raise ValueError(f"it claims {num_evals} evaluations, has {num_archived}, and says that {num_failures} failed")
