"""The values of a batch of points."""

from __future__ import annotations

from dataclasses import dataclass

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
