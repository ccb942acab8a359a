"""What comes back for a batch of points."""

from __future__ import annotations

from dataclasses import dataclass

from steinbox.common.arrays import Array, Mask


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came back for one batch of points.

    ``log_prob`` is −inf outside the support and where the evaluation failed; ``failed`` tells the two apart. ``score``
    is there for methods that need it.
    """

    log_prob: Array
    failed: Mask
    score: Array | None = None
