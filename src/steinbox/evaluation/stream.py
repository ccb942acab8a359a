"""Points on their way: they go out when a worker is free, come back in any order, and are taken in any portions."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.evaluation.batch import Batch
from steinbox.evaluation.calls import Block, Values
from steinbox.evaluation.evaluator import MAX_INITIAL_FAILURES, Evaluator, StoppedError, TimeSpentError
from steinbox.evaluation.faults import Fault
from steinbox.evaluation.types import Evaluation


class Stream:
    """The evaluations of a run, which have numbers; they are counted and archived when they are taken."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._out: set[int] = set()
        self._come: dict[int, tuple[Block, Values]] = {}
        self._known: list[int] = []
        self._first: list[tuple[Array, Fault | None]] = []

    @property
    def num_out(self) -> int:
        """Points that have not come back yet."""
        return len(self._out)

    @property
    def num_workers(self) -> int:
        """How many blocks are evaluated at once."""
        return self._evaluator.dispatch.num_workers

    def num_wanted(self, num_batch: int, num_left: int) -> int:
        """Points for a worker that is free, of so many left, if a batch is about so many; 0 if none is."""
        dispatch = self._evaluator.dispatch
        is_free = dispatch.num_free > 0 and dispatch.num_running < dispatch.num_workers
        return dispatch.block_size(num_batch, num_left) if is_free else 0

    def give_out(self, points: Array, numbers: IntegerArray) -> None:
        """Start evaluating free points under these numbers."""
        self._out.update(numbers.tolist())
        known, rest = self._evaluator.values.recall(Block(self._evaluator.transform.forward(points), numbers))
        for single, value in known:
            self._evaluator.values.add(single, value)
            self._come[int(single.numbers[0])] = single, value
            self._known.append(int(single.numbers[0]))
        if len(rest.points) > 0:
            self._evaluator.dispatch.submit(rest)

    def collect(self) -> list[int]:
        """Wait until something happens, and return the numbers of what came back."""
        if self._evaluator.is_stopped:
            raise StoppedError
        if self._evaluator.is_late:
            num_done = self._evaluator.num_evals + len(self._come)
            raise TimeSpentError(
                f"max_seconds={self._evaluator.max_seconds:g} had passed after {num_done:,} evaluations, with "
                f"{self.num_out:,} more in progress"
            )
        numbers, self._known = self._known, []
        for block, values in [] if numbers else self._evaluator.dispatch.collect():
            self._evaluator.note(block, values)
            self._stop_if_all_fail(block, values)
            for single, value in zip(block.singles(), values.singles(), strict=True):
                self._come[int(single.numbers[0])] = single, value
            numbers += block.numbers.tolist()
        self._out.difference_update(numbers)
        return numbers

    def _stop_if_all_fail(self, block: Block, values: Values) -> None:
        """Stop if the first evaluations to come back all failed."""
        if self._evaluator.num_evals > 0 or len(self._first) >= MAX_INITIAL_FAILURES:
            return
        self._first.extend(zip(block.points, values.faults, strict=True))
        if len(self._first) >= MAX_INITIAL_FAILURES:
            points, faults = zip(*self._first, strict=True)
            self._evaluator.stop_if_all_fail(np.array(points), faults)

    def take(self, points: Array, numbers: IntegerArray) -> Evaluation:
        """The values of these free points, all of which have come back, in this order."""
        return self._evaluator.evaluation(points, self._record(numbers))

    def close(self) -> None:
        """Drop what is under way, and keep what has come back and was not taken."""
        if self._out:
            self._evaluator.dispatch.cancel()
        if self._come:
            self._record(np.array(sorted(self._come)))
        self._out = set()

    def _record(self, numbers: IntegerArray) -> Batch:
        found = [self._come.pop(number) for number in numbers.tolist()]
        batch = Batch(Block(np.concatenate([block.points for block, _ in found]), numbers))
        for block, values in found:
            batch.fill(block, values)
        self._evaluator.record(batch)
        return batch
