"""Values that came back before their batch was complete: with a checkpoint, a run that is stopped loses none.

A state is that after an iteration, and knows nothing of the values that have come back since. These are kept beside it,
by their numbers, and the run that resumes takes them in place of calls: its points have the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.evaluation.calls import Block, Values
from steinbox.evaluation.derived import stack

Part = tuple[Block, Values]


@serializable("evaluation-unfinished")
@dataclass(frozen=True, eq=False)
class Unfinished:
    """Evaluations that worked, of iterations that were not complete; points are in the user's units."""

    numbers: IntegerArray
    points: Array
    log_prob: Array
    score: Array
    seconds: Array
    derived: dict[str, Array]

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Unfinished | None:
        """What worked in these; None if nothing did. A call that failed may work when it is repeated."""
        rows = [(part, row) for part in parts for row, fault in enumerate(part[1].faults) if fault is None]
        if not rows:
            return None
        return cls(
            np.array([block.numbers[row] for (block, _), row in rows]),
            np.array([block.points[row] for (block, _), row in rows]),
            np.array([values.log_prob[row] for (_, values), row in rows]),
            np.array([values.score[row] for (_, values), row in rows]),
            np.array([values.seconds[row] for (_, values), row in rows]),
            stack([values.derived[row] if values.derived else {} for (_, values), row in rows], {}),
        )

    def parts(self) -> list[Part]:
        """One for each point."""
        found = []
        for row, number in enumerate(self.numbers):
            derived = {name: column[row] for name, column in self.derived.items()}
            one = slice(row, row + 1)
            values = Values(self.log_prob[one], self.score[one], (None,), self.seconds[one], (derived,))
            found.append((Block(self.points[one], np.array([number])), values))
        return found


class ValueLog:
    """What came back since the last complete iteration, and what a run that was stopped has left."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._told: set[int] = set()
        self._left: dict[int, Part] = {}

    def leave(self, unfinished: Unfinished | None) -> None:
        """Take what a checkpoint holds."""
        self._left = {} if unfinished is None else {int(part[0].numbers[0]): part for part in unfinished.parts()}

    def recall(self, block: Block) -> tuple[list[Part], Block]:
        """What is known of a block's points, and the points that have to be evaluated."""
        if not self._left:
            return [], block
        known, rows = [], []
        for row, number in enumerate(block.numbers.tolist()):
            left = self._left.pop(number, None)
            if left is not None and np.array_equal(left[0].points[0], block.points[row]):
                known.append(left)
            else:
                rows.append(row)
        return known, Block(block.points[rows], block.numbers[rows])

    def add(self, block: Block, values: Values) -> None:
        """Take note of values that came back."""
        self._parts.append((block, values))

    def tell(self, numbers: IntegerArray) -> None:
        """Take note of what the sampler is told, from which its next state will be."""
        self._told.update(numbers.tolist())

    def settle(self) -> None:
        """An iteration is complete: its state knows all that was told."""
        parts, self._parts = self._parts, []
        for block, values in parts:
            is_open = [number not in self._told for number in block.numbers.tolist()]
            if all(is_open):
                self._parts.append((block, values))
            elif any(is_open):
                singles = zip(block.singles(), values.singles(), is_open, strict=True)
                self._parts += [(one, its_values) for one, its_values, keep in singles if keep]
        self._told.clear()

    @property
    def unfinished(self) -> Unfinished | None:
        """What a state after the last complete iteration does not know."""
        return Unfinished.of([*self._parts, *self._left.values()])
