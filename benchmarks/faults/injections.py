"""A standard Gaussian in three dimensions that goes wrong at one point in fifty, the same points for everybody."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

LogProb: TypeAlias = Callable[[np.ndarray], float]

DIMENSION = 3
ONE_IN = 50
HANG_SECONDS = 10.0
MOST_POINTS = {"hang": 5, "kill": 3}  # so many points and no more: a hang costs most libraries all of its ten seconds


@dataclass(frozen=True)
class Sample:
    """What a library returned: equally weighted points, and the failures that it reports, if it reports any.

    ``unfinished`` is the reason of a run that ended early, and says so.
    """

    points: np.ndarray
    failures: dict[str, int] | None = None
    unfinished: str = ""


@dataclass(frozen=True)
class Around:
    """What surrounds a run: its checkpoint, its time, and what happens to its pool once it is there."""

    checkpoint: str | None = None
    max_seconds: float | None = None
    spoil_pool: Callable[[Any], None] | None = None

    def show(self, pool: Any) -> None:
        """Let happen to the pool what happens to it."""
        if self.spoil_pool is not None:
            self.spoil_pool(pool)


NOTHING_AROUND = Around()


def normal(x: np.ndarray) -> float:
    """The log-density without any fault."""
    return -0.5 * float(np.dot(x, x))


def is_chosen(x: np.ndarray) -> bool:
    """Whether something goes wrong at this point, by a hash of it."""
    digest = hashlib.blake2b(np.asarray(x, dtype=np.float64).tobytes(), digest_size=8).digest()
    return int.from_bytes(digest) % ONE_IN == 0


def good_start(num_points: int, seed: int) -> np.ndarray:
    """Where the Markov chains start: draws of N(0, 9 I), as steinbox does, but none at which anything goes wrong."""
    draws = 3 * np.random.default_rng(seed).standard_normal((2 * num_points, DIMENSION))
    return draws[[not is_chosen(x) for x in draws]][:num_points]


class SolverError(RuntimeError):
    """What the user's code raises."""


def give(value: float) -> Callable[[], float]:
    return lambda: value


def raise_error() -> float:
    raise SolverError("the solver did not converge")


def hang() -> None:
    time.sleep(HANG_SECONDS)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


FAULTS: dict[str, Callable[[], float | None]] = {
    "NaN": give(np.nan),
    "−inf": give(-np.inf),
    "+inf": give(np.inf),
    "exception": raise_error,
    "hang": hang,  # and then the right value
    "kill": kill,
}


class Faulty:
    """The log-density with one kind of fault, or ``"clean"``; each faulty call leaves a line with its point in a file.

    A point that is chosen is faulty whenever it is asked for. It kills workers only, never the main process.
    """

    def __init__(self, kind: str, journal: Path) -> None:
        self.kind, self.journal, self.main_process = kind, journal, os.getpid()

    def __call__(self, x: np.ndarray) -> float:
        if self.kind == "clean" or not is_chosen(x) or not self._may_fail(np.asarray(x, dtype=np.float64)):
            return normal(x)
        value = FAULTS[self.kind]()
        return normal(x) if value is None else value

    def _may_fail(self, x: np.ndarray) -> bool:
        """Note the call, unless there were enough points already."""
        if self.kind == "kill" and os.getpid() == self.main_process:
            return False
        with self.journal.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            points, point = set(file.read().split()), x.tobytes().hex()
            if point not in points and len(points) >= MOST_POINTS.get(self.kind, np.inf):
                return False
            file.write(f"{point}\n")
            return True
