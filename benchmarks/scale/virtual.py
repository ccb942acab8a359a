r"""Virtual time: the real front door, loop and sampler, with any number of workers and no sleeping.

.. code-block:: text

   submit ─► heap of (moment at which the worker is done, block) ─► collect: the clock jumps to the earliest

Workers take the time that a function of the evaluation's number and its log-density says. What steinbox itself does
between two calls of the workers takes either no time or the processor time that it really took; a fit beside the loop
has a time of its own. Nothing depends on the machine if it takes none, so that tests can use it.
"""

from __future__ import annotations

import heapq
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np

import steinbox as sb  # noqa: F401 (its modules are patched)
from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.evaluator import TimeSpentError
from steinbox.evaluation.faults import Fault

Seconds = Callable[[int, float], float]
"""Of an evaluation, by its number and its log-density."""


@dataclass
class Clock:
    """Virtual seconds since the start; with ``is_charged``, what steinbox does takes its processor time."""

    is_charged: bool = False
    now: float = 0.0
    _since: float | None = None

    def charge(self) -> None:
        """Count what was done since :meth:`rest`."""
        if self.is_charged and self._since is not None:
            self.now += time.thread_time() - self._since
        self._since = None

    def rest(self) -> None:
        """From here on steinbox is at work."""
        self._since = time.thread_time()


@dataclass(eq=False)
class VirtualWorkers:
    """So many workers; ``work`` are the seconds of all evaluations that have come back."""

    calls: Calls
    num_workers: int
    seconds: Seconds
    clock: Clock
    max_block_seconds: float = float("inf")
    wall: float = float("inf")
    work: float = 0.0
    _running: list[tuple[float, int, Block, Values | Fault]] = field(default_factory=list)
    _num_submitted: int = 0

    @property
    def num_free(self) -> int:
        return self.num_workers - len(self._running)

    def submit(self, block: Block) -> None:
        self.clock.charge()
        values = self.calls(block)
        assert isinstance(values, Values)
        numbers = zip(block.numbers, values.log_prob, strict=True)
        taken = np.array([self.seconds(int(number), float(value)) for number, value in numbers])
        heapq.heappush(
            self._running,
            (self.clock.now + taken.sum(), self._num_submitted, block, replace(values, seconds=taken)),
        )
        self._num_submitted += 1
        self.clock.rest()

    def collect(self) -> list[tuple[Block, Values | Fault]]:
        self.clock.charge()
        self.clock.now = max(self.clock.now, self._running[0][0]) if self._running else self.clock.now
        if self.clock.now > self.wall:
            raise TimeSpentError(f"the clock says {self.clock.now:g}")
        finished = []
        while self._running and self._running[0][0] <= self.clock.now:
            _, _, block, values = heapq.heappop(self._running)
            self.work += float(values.seconds.sum()) if isinstance(values, Values) else 0.0
            finished.append((block, values))
        self.clock.rest()
        return finished

    def cancel(self) -> None:
        self._running = []

    def close(self) -> None:
        """Nothing was started."""


@dataclass(eq=False)
class VirtualFuture:
    """What was computed at once, and is there when the clock says so."""

    clock: Clock
    moment: float
    outcome: Any = None
    error: BaseException | None = None

    def done(self) -> bool:
        return self.clock.now >= self.moment

    def result(self) -> Any:
        self.clock.charge()
        self.clock.now = max(self.clock.now, self.moment)
        self.clock.rest()
        if self.error is not None:
            raise self.error
        return self.outcome


@dataclass(eq=False)
class VirtualBackground:
    """An executor of one thread, in virtual time; a fit may take longer than it really does."""

    clock: Clock
    seconds: float = 0.0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> VirtualFuture:
        self.clock.charge()
        start, future = time.thread_time(), VirtualFuture(self.clock, self.clock.now)
        try:
            future.outcome = function(*arguments)
        except Exception as error:
            future.error = error
        future.moment += self.seconds + (time.thread_time() - start if self.clock.is_charged else 0.0)
        self.clock.rest()
        return future

    def __enter__(self) -> VirtualBackground:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was started."""


@contextmanager
def virtual_time(
    num_workers: int,
    seconds: Seconds,
    *,
    is_charged: bool = False,
    fit_seconds: float = 0.0,
    max_seconds: float = float("inf"),
) -> Iterator[VirtualRun]:
    """In here, ``sb.sample(…, executor=1)`` has so many workers in virtual time, and so much of it."""
    run = VirtualRun(Clock(is_charged))

    def as_workers(executor: object, calls: Calls, timeout: float | None) -> VirtualWorkers:
        run.workers = VirtualWorkers(calls, num_workers, seconds, run.clock, wall=max_seconds)
        run.clock.now = 0.0
        run.clock.rest()
        return run.workers

    with (
        mock.patch.object(sys.modules["steinbox.sample"], "as_workers", as_workers),
        mock.patch("steinbox.run.asynchronous.make_background", return_value=VirtualBackground(run.clock, fit_seconds)),
    ):
        yield run


@dataclass(eq=False)
class VirtualRun:
    """The clock and the workers of the last run."""

    clock: Clock
    workers: VirtualWorkers | None = None

    @property
    def efficiency(self) -> float:
        """Work / (workers × wall)."""
        assert self.workers is not None
        return self.workers.work / (self.workers.num_workers * self.clock.now)


def lognormal(mean: float, sigma: float = 1.0) -> Seconds:
    """Times whose logarithm is normal, in no connection with the point."""

    def seconds(number: int, log_prob: float) -> float:
        return float(mean * np.exp(sigma * np.random.default_rng((1, number)).standard_normal() - sigma**2 / 2))

    return seconds


def stragglers(usual: float, share: float = 0.02, factor: float = 100.0) -> Seconds:
    """One call in fifty takes a hundred times as long."""

    def seconds(number: int, log_prob: float) -> float:
        return usual * (factor if np.random.default_rng((2, number)).random() < share else 1.0)

    return seconds


TIMES = {"lognormal": lognormal(0.05), "stragglers": stragglers(0.05)}
