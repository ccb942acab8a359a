"""The values of a batch of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, Mask


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of one batch of points.

    ``log_prob`` is −inf outside the support and where the evaluation failed; ``failed`` tells the two apart. ``score``
    is None unless the method needs it.
    """

    log_prob: Array
    failed: Mask
    score: Array | None = None

    @classmethod
    def join(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """Those of several batches, in order."""
        scores = [part.score for part in parts if part.score is not None]
        return cls(
            np.concatenate([part.log_prob for part in parts]),
            np.concatenate([part.failed for part in parts]),
            np.concatenate(scores) if len(scores) == len(parts) else None,
        )

    def split(self, sizes: Sequence[int]) -> list[Evaluation]:
        """What :meth:`join` has put together."""
        ends = np.cumsum(sizes)
        rows = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        return [Evaluation(self.log_prob[each], self.failed[each], _rows(self.score, each)) for each in rows]


def _rows(score: Array | None, rows: slice) -> Array | None:
    return None if score is None else score[rows]
