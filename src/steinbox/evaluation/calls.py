"""Calls of the user's functions. This runs wherever the evaluations run, also in another process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.evaluation.faults import Fault, fault_of_exception
from steinbox.evaluation.returned import read_log_prob, read_log_probs, read_score, read_scores

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Block:
    """Points to evaluate together, with their numbers among all evaluations of the run."""

    points: Array
    numbers: IntegerArray
    num_deaths: int = 0

    def singles(self, num_deaths: int = 0) -> list[Block]:
        """One block for each point."""
        rows = [slice(i, i + 1) for i in range(len(self.points))]
        return [Block(self.points[row], self.numbers[row], num_deaths) for row in rows]


@dataclass(frozen=True, eq=False)
class Values:
    """What the calls for a block returned; −inf, and a fault, where one failed."""

    log_prob: Array
    score: Array
    faults: tuple[Fault | None, ...]
    seconds: Array


@dataclass(frozen=True, eq=False)
class Calls:
    """The user's functions and how to call them.

    Parameters
    ----------
    log_prob, score : callable
        Of one point, or of a block of them if ``vectorized``.
    takes_rng : bool
        Whether ``log_prob`` has a parameter ``rng``: it gets a generator that depends on the seed and on the
        evaluation's number alone (a list of them, one per point, if ``vectorized``).
    retries : int
        How often a call that raises is repeated.
    """

    log_prob: Function
    score: Function | None = None
    vectorized: bool = False
    takes_rng: bool = False
    seed: int = 0
    retries: int = 0

    def __call__(self, block: Block) -> Values | Fault:
        """Checked values at the points, or one fault if a vectorized function raised, whichever point caused it."""
        return self._evaluate_together(block) if self.vectorized else self._evaluate_each(block)

    def _evaluate_each(self, block: Block) -> Values:
        values, scores = np.empty(len(block.points)), np.zeros_like(block.points)
        seconds, faults = np.empty(len(block.points)), []
        for i, (point, number) in enumerate(zip(block.points, block.numbers, strict=True)):
            start = time.perf_counter()
            values[i], fault = read_log_prob(self._call(self.log_prob, point, number))
            if self.score is not None and np.isfinite(values[i]):
                scores[i], fault = read_score(self._call(self.score, point), len(point))
            faults.append(fault)
            seconds[i] = time.perf_counter() - start
        return _make_values(values, scores, faults, seconds)

    def _evaluate_together(self, block: Block) -> Values | Fault:
        start = time.perf_counter()
        batch = self._call(self.log_prob, block.points, block.numbers)
        slopes = None if self.score is None or isinstance(batch, Fault) else self._call(self.score, block.points)
        seconds = (time.perf_counter() - start) / len(block.points)
        for outcome in (batch, slopes):
            if isinstance(outcome, Fault):
                return outcome
        values, faults = read_log_probs(batch, block.points.shape)
        scores = np.zeros_like(block.points)
        if self.score is not None:
            scores, faults = read_scores(slopes, values, faults, block.points.shape)
        return _make_values(values, scores, faults, np.full(len(values), seconds))

    def _call(self, function: Function, points: Array, numbers: Any = None) -> object:
        """What the function returned, or the last fault if it raised at every attempt."""
        for attempt in range(self.retries):
            outcome = self._attempt(function, points, numbers, attempt)
            if not isinstance(outcome, Fault):
                return outcome
        return self._attempt(function, points, numbers, self.retries)

    def _attempt(self, function: Function, points: Array, numbers: Any, attempt: int) -> object:
        random = {"rng": self._generators(numbers, attempt)} if self.takes_rng and numbers is not None else {}
        try:
            with np.errstate(all="ignore"):
                result: object = function(points.copy(), **random)
            return result
        except (Exception, SystemExit) as error:  # the user's code may raise anything; it is reported, not hidden
            return fault_of_exception(error)

    def _generators(self, numbers: Any, attempt: int) -> Any:
        if np.ndim(numbers):
            return [self._generators(number, attempt) for number in numbers]
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(int(numbers), attempt)))


def _make_values(values: Array, scores: Array, faults: list[Fault | None], seconds: Array) -> Values:
    failed = [fault is not None for fault in faults]
    return Values(np.where(failed, -np.inf, values), scores, tuple(faults), seconds)
