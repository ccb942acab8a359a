"""Where the calls run: what workers are, the simplest case (this process), and how batches reach them in blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.faults import Fault, FaultKind

Finished: TypeAlias = tuple[Block, Values | Fault]
POLL_SECONDS = 0.1  # between two looks at the clock, and at the health of the workers
START_SECONDS = 60.0  # what a first answer may take beyond the time-out: workers start, functions load and compile
_BLOCK_SECONDS = 0.1  # long compared with a round trip to a worker, short compared with what its death may cost
_TIME_LEARNING_RATE = 0.2  # of the running mean of the time per point


class WorkersLostError(RuntimeError):
    """No worker is left to evaluate anything."""


class Workers(Protocol):
    """Where blocks are evaluated."""

    @property
    def num_workers(self) -> int:
        """How many blocks are evaluated at once."""
        ...

    @property
    def num_free(self) -> int:
        """How many blocks can be submitted now."""
        ...

    @property
    def max_block_seconds(self) -> float:
        """Seconds that a block should take at most, a fraction of the time-out."""
        ...

    def submit(self, block: Block) -> None:
        """Start evaluating the block."""
        ...

    def collect(self) -> list[Finished]:
        """Wait for a moment, and return the blocks that are finished: with values, or a fault of the whole block.

        Where calls run in this process, or behind ``map``, it waits for them, however long they take.
        """
        ...

    def cancel(self) -> None:
        """Drop what was submitted."""
        ...

    def close(self) -> None:
        """Release all that was started here."""
        ...


@dataclass(eq=False)
class InProcess:
    """In this process, one block after the other."""

    calls: Calls
    num_workers: int = 1
    max_block_seconds: float = float("inf")
    _waiting: list[Block] = field(default_factory=list)

    @property
    def num_free(self) -> int:
        """One, unless a block waits."""
        return 1 - len(self._waiting)

    def submit(self, block: Block) -> None:
        self._waiting.append(block)

    def collect(self) -> list[Finished]:
        blocks, self._waiting = self._waiting, []
        return [(block, self.calls(block)) for block in blocks]

    def cancel(self) -> None:
        self._waiting = []

    def close(self) -> None:
        """Nothing was started."""


class Dispatcher:
    """Cuts batches into blocks and gives them to free workers.

    A vectorized function gets one block per worker. Otherwise a block is as many points as take about a tenth of a
    second by the times measured so far, and few enough to keep all workers busy to the end.

    A block that failed as a whole is cut into its points: after a worker's death each of them gets one more try, on its
    own; a time-out or an exception of a vectorized function then belongs to the point that causes it again.
    """

    def __init__(self, workers: Workers, *, vectorized: bool) -> None:
        self._workers = workers
        self._max_block_seconds = min(_BLOCK_SECONDS, workers.max_block_seconds)
        self._vectorized = vectorized
        self._seconds_per_point: float | None = None
        self._retries: deque[Block] = deque()
        self.num_running = 0  # blocks

    def __call__(self, batch: Block, look: Callable[[], None] = lambda: None) -> Generator[tuple[Block, Values]]:
        """The batch's values, block by block, in the order in which they come.

        ``look`` is called again and again, also while nothing comes, and may raise.
        """
        next_row, num_open = 0, len(batch.points)
        try:
            while num_open:
                while self.num_free > 0 and next_row < len(batch.points):
                    size = self.block_size(len(batch.points), len(batch.points) - next_row)
                    rows = slice(next_row, next_row + size)
                    self.submit(Block(batch.points[rows], batch.numbers[rows]))
                    next_row += size
                for block, values in self.collect():
                    num_open -= len(block.points)
                    yield block, values
                look()
        finally:
            if num_open:
                self.cancel()

    @property
    def num_workers(self) -> int:
        """How many blocks are evaluated at once."""
        return self._workers.num_workers

    @property
    def num_free(self) -> int:
        """How many blocks can be submitted now; what is to be tried again goes first."""
        self._try_again()
        return self._workers.num_free

    def _try_again(self) -> None:
        while self._retries and self._workers.num_free > 0:
            self.submit(self._retries.popleft())

    def submit(self, block: Block) -> None:
        """Start evaluating the block."""
        self._workers.submit(block)
        self.num_running += 1

    def collect(self) -> Generator[tuple[Block, Values]]:
        """Wait until something happens: the values of blocks that are done, or cut up and tried again."""
        self._try_again()  # nobody may have asked who is free, if nothing else is to be submitted
        for block, outcome in self._workers.collect():
            self.num_running -= 1
            values = outcome if isinstance(outcome, Values) else _fail_point(block, outcome)
            if values is None:
                died = isinstance(outcome, Fault) and outcome.kind is FaultKind.DEAD_WORKER
                self._retries.extend(block.singles(num_deaths=block.num_deaths + died))
                continue
            self._learn_time(values)
            yield block, values

    def cancel(self) -> None:
        """Drop what was submitted."""
        self._retries.clear()
        self.num_running = 0
        self._workers.cancel()

    def block_size(self, num_points: int, num_left: int) -> int:
        """How many of the points that are left, of a batch of so many, go out together."""
        if self._vectorized:
            return -(-num_points // self._workers.num_workers)
        if self._seconds_per_point is None:
            return 1
        num_in_time = int(self._max_block_seconds / max(self._seconds_per_point, 1e-9))
        return max(1, min(num_in_time, -(-num_left // (2 * self._workers.num_workers))))

    def _learn_time(self, values: Values) -> None:
        """Update the time per point; until a call has worked, points go one by one, so that a bug shows early."""
        worked = [fault is None for fault in values.faults]
        if not any(worked):
            return
        seconds = float(values.seconds[worked].mean())
        known = seconds if self._seconds_per_point is None else self._seconds_per_point
        self._seconds_per_point = known + _TIME_LEARNING_RATE * (seconds - known)


def _fail_point(block: Block, fault: Fault) -> Values | None:
    """Failed values for a block of one point, or None if the points of the block are to be tried again."""
    is_first_death = fault.kind is FaultKind.DEAD_WORKER and block.num_deaths == 0
    if is_first_death or len(block.points) > 1:
        return None
    return Values(np.full(1, -np.inf), np.zeros_like(block.points), (fault,), np.full(1, np.nan))
