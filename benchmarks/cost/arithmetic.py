"""How small the error of a method is after some time, for a density of some cost and a number of workers.

From measured rows: errors after given numbers of evaluations, and the processor seconds that the method itself took.
A run takes the method's own seconds, during which workers wait, and the evaluations' share of each worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MEASURED_BUSY = {1: 1.0, 8: 0.99, 32: 0.93, 128: 0.77}  # scale_efficiency.md, asynchronous, lognormal times
LONGEST, NUM_RUNS = 1e6, 2_000  # runs that are looked at: up to a million times what was measured
Speedup = Callable[[int, np.ndarray], np.ndarray | float]  # of so many workers, for runs of so many evaluations


def one_by_one(num_workers: int, _: np.ndarray) -> float:
    """Of the default, whose workers do not wait for each other: measured, with calls of unequal length."""
    known = np.log2(list(MEASURED_BUSY))
    return num_workers * float(np.interp(np.log2(num_workers), known, list(MEASURED_BUSY.values())))


def in_batches(size: Callable[[np.ndarray], np.ndarray | float]) -> Speedup:
    """Of a method that hands out ``size(num_evals)`` calls of equal length, and waits for all of them."""

    def speedup(num_workers: int, num_evals: np.ndarray) -> np.ndarray:
        calls = size(num_evals)
        return calls / np.ceil(calls / num_workers)

    return speedup


@dataclass(frozen=True)
class Curve:
    """What one method measured on one problem: evaluations in ascending order, errors, and its own seconds."""

    evals: np.ndarray
    errors: np.ndarray
    seconds: np.ndarray
    speedup: Speedup
    can_go_on: bool = True
    """Whether it may be run beyond what was measured: then its error falls with the square root of the evaluations."""

    def durations(self, num_evals: np.ndarray, cost: float, num_workers: int) -> np.ndarray:
        """Seconds from the start to the end of runs."""
        own = np.exp(np.interp(np.log(num_evals), np.log(self.evals), np.log(self.seconds)))
        own *= np.maximum(1.0, num_evals / self.evals[-1])  # beyond what was measured
        return own + num_evals * cost / self.speedup(num_workers, num_evals)

    def measured_until(self, cost: float, num_workers: int) -> float:
        """How long the longest run takes that was measured."""
        return float(self.durations(self.evals[-1:], cost, num_workers)[0])

    def errors_of(self, num_evals: np.ndarray) -> np.ndarray:
        within = np.exp(np.interp(np.log(num_evals), np.log(self.evals), np.log(self.errors)))
        return within * np.minimum(1.0, np.sqrt(self.evals[-1] / num_evals))

    def errors_after(self, times: np.ndarray, cost: float, num_workers: int) -> np.ndarray:
        """The smallest of all runs that end in time; infinite if none does."""
        last = self.evals[-1] * (LONGEST if self.can_go_on else 1.0)
        num_evals = np.geomspace(self.evals[0], last, NUM_RUNS)
        durations = np.maximum.accumulate(self.durations(num_evals, cost, num_workers))
        best = np.append(np.inf, np.minimum.accumulate(self.errors_of(num_evals)))
        return best[np.searchsorted(durations, times, side="right")]
