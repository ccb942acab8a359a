r"""Evaluations at one point, again and again: how much noise there is, if nobody said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.samplers.adaptive.proposer import Offer, Probe, Proposer, View

_NUM_REPEATS = 30  # which tell a standard deviation to 13%
_MAX_SHARE = 0.05  # of the budget


@dataclass(frozen=True)
class Repeats(Proposer):
    r"""The standard deviation of log p at the best point so far, if it was declared noisy but not how much.

    With values :math:`y_1, \dots, y_m` of m evaluations there, the memory is
    :math:`\hat\sigma^2 = \sum_k (y_k - \bar y)^2 / (m - 1)`, its root. The values have no weight.
    """

    name = "repeats"

    def propose(self, view: View, memory: float | None, rng: np.random.Generator) -> tuple[Offer, float | None]:
        number = min(_NUM_REPEATS, int(_MAX_SHARE * view.max_evals), view.num_left)
        is_known = view.noise is None or view.noise.std is not None
        if is_known or memory is not None or number < 2:
            return None, memory
        best = view.archive.points[int(np.argmax(view.archive.log_prob))]
        return Probe(np.tile(best, (number, 1))), memory

    def learn(self, memory: float | None, log_prob: Array) -> float:
        """The standard deviation; 0 if no two evaluations worked."""
        inside = log_prob[np.isfinite(log_prob)]
        return float(inside.std(ddof=1)) if len(inside) > 1 else 0.0
