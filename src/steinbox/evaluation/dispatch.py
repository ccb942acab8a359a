"""Points to workers and values back: cut into blocks, taken as they come, tried again where one is to blame."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator

import numpy as np

from steinbox.evaluation.calls import Block, Values
from steinbox.evaluation.faults import Fault, FaultKind
from steinbox.evaluation.workers import Workers

_BLOCK_SECONDS = 0.1  # long against the way to a worker and back, short against what a death may cost
_FORGETTING = 0.2


class Dispatcher:
    """Cuts batches into blocks and hands them to whoever is free.

    A vectorised function gets one block per worker. Otherwise a block is as many points as take about a tenth of a
    second by the times measured so far, and never more than leaves all workers busy to the end.

    A block that failed as a whole is cut into its points: after a worker's death each of them gets one more try, on its
    own; a time-out or an exception of a vectorised function then belongs to the point that causes it again.
    """

    def __init__(self, workers: Workers, *, vectorized: bool) -> None:
        self._workers = workers
        self._longest_block = min(_BLOCK_SECONDS, workers.longest_block)
        self._vectorized = vectorized
        self._seconds_per_point: float | None = None

    def __call__(self, batch: Block) -> Generator[tuple[Block, Values]]:
        """The batch's values, block by block, in the order in which they come."""
        again: deque[Block] = deque()
        next_row, num_open = 0, len(batch.points)
        try:
            while num_open:
                while self._workers.num_free > 0 and (again or next_row < len(batch.points)):
                    if again:
                        self._workers.submit(again.popleft())
                    else:
                        block = self._cut(batch, next_row)
                        self._workers.submit(block)
                        next_row += len(block.points)
                for block, outcome in self._workers.collect():
                    values = outcome if isinstance(outcome, Values) else _blamed(block, outcome)
                    if values is None:
                        died = isinstance(outcome, Fault) and outcome.kind is FaultKind.DEAD_WORKER
                        again.extend(block.singles(num_deaths=block.num_deaths + died))
                        continue
                    num_open -= len(block.points)
                    self._learn(values)
                    yield block, values
        finally:
            if num_open:
                self._workers.cancel()

    def _cut(self, batch: Block, first: int) -> Block:
        rows = slice(first, first + self._size(len(batch.points), len(batch.points) - first))
        return Block(batch.points[rows], batch.numbers[rows])

    def _size(self, num_points: int, num_left: int) -> int:
        if self._vectorized:
            return -(-num_points // self._workers.num_workers)
        if self._seconds_per_point is None:
            return 1
        wanted = int(self._longest_block / max(self._seconds_per_point, 1e-9))
        return max(1, min(wanted, -(-num_left // (2 * self._workers.num_workers))))

    def _learn(self, values: Values) -> None:
        """Follow the time of a call that works; until one has, points go one by one, so that a bug shows early."""
        worked = [fault is None for fault in values.faults]
        if not any(worked):
            return
        seconds = float(values.seconds[worked].mean())
        known = seconds if self._seconds_per_point is None else self._seconds_per_point
        self._seconds_per_point = known + _FORGETTING * (seconds - known)


def _blamed(block: Block, fault: Fault) -> Values | None:
    """Failed values for a block that failed as a whole, or nothing if its points deserve another try."""
    forgiven = fault.kind is FaultKind.DEAD_WORKER and block.num_deaths == 0
    if forgiven or len(block.points) > 1:
        return None
    return Values(np.full(1, -np.inf), np.zeros_like(block.points), (fault,), np.full(1, np.nan))
