"""The values of a batch while they arrive."""

from __future__ import annotations

import numpy as np

from steinbox.evaluation.calls import Block, Values
from steinbox.evaluation.derived import Quantities
from steinbox.evaluation.faults import Fault


class Batch:
    """The values of a batch while they arrive."""

    def __init__(self, block: Block) -> None:
        num_points, points = len(block.points), block.points
        self.block = block
        self._row_of = dict(zip(block.numbers.tolist(), range(num_points), strict=True))
        self.log_prob, self.seconds = np.full(num_points, -np.inf), np.zeros(num_points)
        self.score = np.zeros_like(points)
        self.derived: list[Quantities] = [{}] * num_points
        self.faults: list[Fault | None] = [None] * num_points
        self.done, self.failed = np.zeros(num_points, dtype=bool), np.zeros(num_points, dtype=bool)

    def fill(self, block: Block, values: Values) -> None:
        """Put a block's values in their places."""
        rows = np.array([self._row_of[number] for number in block.numbers.tolist()])
        self.log_prob[rows], self.score[rows], self.seconds[rows] = values.log_prob, values.score, values.seconds
        self.done[rows] = True
        for row, fault in zip(rows, values.faults, strict=True):
            self.faults[row], self.failed[row] = fault, fault is not None
        for row, quantities in zip(rows, values.derived, strict=False):  # there may be none
            self.derived[row] = quantities
