"""The book of a run without batches: which points went out, which came back, and which of them were told.

It knows no time and no workers, so that a run and its repetition keep the same book. Points are numbered as they go
out. Those of version k, the state after k tells, come from its draws, whose generator depends on the seed and on k
alone: how many of them go out before the next version is all that time has a say in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from steinbox.common.arrays import Array, IntegerArray, Mask
from steinbox.run.arrivals import OpenBatch
from steinbox.samplers.asynchronous import Asynchronous, Batch
from steinbox.samplers.base import State

_MIN_PORTION = 1 / 8  # of a batch: what is told at once, unless it is the rest, so that the work per point is bounded
_OTHER_RUN = "the log of arrivals belongs to another run, with another seed, budget, function or settings: {}"


@dataclass(eq=False)
class _Entry:
    """A batch in the book: the order in which its rows go out, their numbers (−1 before), and what became of them."""

    batch: Batch
    order: IntegerArray
    numbers: IntegerArray
    version: int
    num_out: int = 0
    num_new: int = 0
    num_told: int = 0
    is_ended: bool = False
    has_come: Mask = field(init=False)
    is_told: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.has_come, self.is_told = np.zeros(len(self.order), dtype=bool), np.zeros(len(self.order), dtype=bool)

    @property
    def num_owed(self) -> int:
        """Points that are to go out, whatever else is decided."""
        return len(self.order) - self.num_out if self.batch.is_whole else 0

    @property
    def can_go_on(self) -> bool:
        """Whether more of its draws can go out."""
        return not self.batch.is_whole and self.num_out < len(self.order)

    def reopened(self) -> OpenBatch:
        """What is left of it."""
        rows = np.flatnonzero(~self.is_told & ((self.numbers >= 0) | (not self.is_ended)))
        return OpenBatch(self.batch.take(rows), self.numbers[rows], np.argsort(self.order)[rows])

    @property
    def is_closed(self) -> bool:
        """Whether all has gone out, and was told."""
        return (self.is_ended or self.num_out == len(self.order)) and self.num_told == self.num_out

    @property
    def is_waited_for(self) -> bool:
        """Whether what came back is of no use without the rest."""
        return self.batch.is_whole and not self.is_ready

    @property
    def is_ready(self) -> bool:
        """Whether what came back is to be told: a part, or the rest."""
        size = self.num_out if self.is_ended else len(self.order)
        is_rest = size == self.num_out == self.num_told + self.num_new
        return self.num_new > 0 and (is_rest or (not self.batch.is_whole and self.num_new >= _MIN_PORTION * size))


class Book(Generic[State]):
    """What went out and came back, and what goes out next.

    Parameters
    ----------
    sampler : Asynchronous
    state : State
        Version ``version``, of which nothing went out yet.
    seed, max_evals : int
    num_drawn : int
        Points that have a number.
    opened : sequence of OpenBatch
        Those of earlier versions that were not told; they go out again.
    """

    def __init__(
        self,
        sampler: Asynchronous[State],
        state: State,
        seed: int,
        max_evals: int,
        version: int = 0,
        num_drawn: int = 0,
        opened: Sequence[OpenBatch] = (),
    ) -> None:
        self._sampler, self._seed, self._max_evals = sampler, seed, max_evals
        self.num_drawn, self.version = num_drawn, version - 1
        self._entries = [_reopen(each) for each in opened]
        self._num_owed = sum(entry.num_owed for entry in self._entries)
        self._owner = {int(n): (e, row) for e in self._entries for row, n in enumerate(e.numbers) if n >= 0}
        self._again = sorted(self._owner)
        self._current = next((each for each in self._entries if each.can_go_on), None)
        self.install(state)

    @property
    def num_open(self) -> int:
        """Points that went out, or are owed, and were not told."""
        return len(self._owner) + self._num_owed

    @property
    def num_ahead(self) -> int:
        """Draws that went out and were not told: by so many the workers are ahead of the sampler."""
        return sum(entry.num_out - entry.num_told for entry in self._entries if not entry.batch.is_whole)

    @property
    def num_asked(self) -> int:
        """Points that go out before any draw."""
        return len(self._again) + self._num_owed

    @property
    def num_left(self) -> int:
        """Evaluations left for points that are not owed."""
        return self._max_evals - self.num_drawn - self._num_owed

    @property
    def opened(self) -> tuple[OpenBatch, ...]:
        """What a book needs to go on with the present version, of which nothing has gone out."""
        return tuple(entry.reopened() for entry in self._entries if entry.version < self.version)

    def install(self, state: State) -> None:
        """From now on points are those of this state.

        If it asks for a whole batch, draws go on as they were; otherwise those that did not go out never will.
        """
        self._state, self.version, self._index, self._is_dry = state, self.version + 1, 0, False
        key = (self.version, 0, 1)  # of three numbers; those of evaluations have two
        self._rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))
        self._num_reserved = self._sampler.num_reserved(state)
        before, self._current = self._current, self._draw()
        if self._current is not None and self._current.batch.is_whole:
            own, self._current = self._current, before
            self._num_owed += own.num_owed
            if self.num_left < 0:  # too late for it
                self._num_owed -= own.num_owed
                self._entries.remove(own)
        for entry in self._entries:
            entry.is_ended = not (entry.batch.is_whole or entry is self._current)
        self._entries = [entry for entry in self._entries if not entry.is_closed]

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing can go out before something is learned."""
        if self.num_asked > 0:
            return False
        return self._is_dry or self.num_left <= self._num_reserved

    def skip_to(self, num_drawn: int) -> None:
        """Number points as if they went out until there are so many, to repeat a run."""
        self._again = []
        self.give_out(num_drawn - self.num_drawn)
        if self.num_drawn != num_drawn:
            raise ValueError(_OTHER_RUN.format(f"{num_drawn} points cannot have gone out"))

    def give_out(self, most: int) -> tuple[Array, IntegerArray]:
        """So many points, or fewer, and their numbers: first those that go out again, then what is owed, then draws."""
        numbers, self._again = self._again[:most], self._again[most:]
        while len(numbers) < most:
            entry = self._next_entry()
            if entry is None:
                break
            row = int(entry.order[entry.num_out])
            entry.numbers[row] = self.num_drawn
            self._owner[self.num_drawn] = entry, row
            numbers.append(self.num_drawn)
            entry.num_out += 1
            self.num_drawn += 1
            self._num_owed -= entry.batch.is_whole
        found = [self._owner[number] for number in numbers]
        return np.array([entry.batch.points[row] for entry, row in found]), np.array(numbers, dtype=np.int64)

    def come(self, numbers: Sequence[int]) -> None:
        """Take note of what came back."""
        for number in numbers:
            entry, row = self._owner[number]
            entry.has_come[row] = True
            entry.num_new += 1

    @property
    def num_come(self) -> int:
        """Points that came back and were not told."""
        return sum(entry.num_new for entry in self._entries)

    def find_ready(self, num_wanted: int) -> IntegerArray:
        """The numbers of what may be told now: draws, if there are so many, and what somebody waits for."""
        entries = [entry for entry in self._entries if entry.is_ready]
        if sum(entry.num_new for entry in entries if not entry.batch.is_whole) < num_wanted:
            entries = [entry for entry in entries if entry.batch.is_whole]
        return _join_new(entries)

    def find_all(self) -> IntegerArray:
        """The numbers of all that came back and was not told; not of a part of what is needed as a whole."""
        return _join_new([entry for entry in self._entries if entry.num_new > 0 and not entry.is_waited_for])

    def tell(self, numbers: IntegerArray) -> list[tuple[Batch, IntegerArray]]:
        """Parts of batches, with the numbers of their points, which count as told from now on."""
        rows: dict[_Entry, list[int]] = {}
        for number in numbers.tolist():
            if number not in self._owner:
                raise ValueError(_OTHER_RUN.format(f"point {number} is not under way"))
            entry, row = self._owner.pop(number)
            rows.setdefault(entry, []).append(row)
        for entry, found in rows.items():
            if entry.batch.is_whole and len(found) < len(entry.order):
                raise ValueError(_OTHER_RUN.format("only a part is told of what is needed as a whole"))
            entry.is_told[found] = entry.has_come[found] = True
            entry.num_told += len(found)
            entry.num_new = int((entry.has_come & ~entry.is_told).sum())
        return [(entry.batch.take(np.array(found)), entry.numbers[found]) for entry, found in rows.items()]

    def _next_entry(self) -> _Entry | None:
        """The batch whose point is the next to go out."""
        if self._num_owed > 0:
            return next(entry for entry in self._entries if entry.num_owed > 0)
        if self.is_exhausted:
            return None
        if self._current is None or self._current.num_out == len(self._current.order):
            self._current = self._draw()
        return self._current

    def _draw(self) -> _Entry | None:
        """Another batch from this version; its draws go out in random order, so that a part is as good as another."""
        batch = self._sampler.draw(self._state, self._index, self._rng)
        self._index += 1
        if batch is None or len(batch.points) == 0:
            self._is_dry = self._index > 1
            return None
        size = len(batch.points)
        order = np.arange(size) if batch.is_whole else self._rng.permutation(size)
        entry = _Entry(batch, order, np.full(size, -1), self.version)
        self._entries.append(entry)
        return entry


def _join_new(entries: Sequence[_Entry]) -> IntegerArray:
    new = [entry.numbers[entry.has_come & ~entry.is_told] for entry in entries]
    return np.concatenate([np.empty(0, dtype=np.int64), *new])


def _reopen(opened: OpenBatch) -> _Entry:
    """A batch of an earlier version, what had no number yet last."""
    num_out = int((opened.numbers >= 0).sum())
    return _Entry(opened.batch, np.argsort(opened.ranks), np.array(opened.numbers), version=-1, num_out=num_out)
