"""Particles that cannot be driven: outside the support, failed, or hopelessly far out; and how they come back."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.evaluation import Evaluation
from steinbox.numerics.pairwise import squared_distances

HOPELESS_QUARTILES = 6.0  # distances from the median to the upper quartile of log p
HOPELESS_NATS = 5.0  # and so many more, where all values are nearly the same


def is_hopeless(log_target: Array) -> Mask:
    r"""Values below :math:`q_{50} - 6 (q_{75} - q_{50}) - 5` of all particles.

    Draws from a target hardly ever fall there. A straggler in the far tail would be left behind as the others contract,
    and a penalty such as −1e10 in place of −inf would spoil the surrogate.
    """
    inside = np.isfinite(log_target)
    if not inside.any():
        return inside
    median, upper = np.quantile(log_target[inside], [0.5, 0.75])
    return np.asarray(inside & (log_target < median - HOPELESS_QUARTILES * (upper - median) - HOPELESS_NATS))


def sort_out(evaluation: Evaluation, hopeless: Mask, given_up: Mask) -> tuple[Mask, Mask]:
    """Of which particles nothing is known that a surrogate should learn, and which to bring back.

    Outside the support: no force, brought back, and known to the surrogate as a wall. Failed: no force, not known, goes
    on with the others; given up after failing again: as outside. Hopeless: no force, not known, brought back.
    """
    failed = evaluation.failed & ~given_up
    outside = hopeless | ~np.isfinite(evaluation.log_prob)
    return failed | hopeless, outside & ~failed


def bring_back(points: Array, next_points: Array, stray: Mask) -> Array:
    """Where the particles go: strays half-way to the nearest other one, the rest along; no step that overflows."""
    kept = np.where(np.isfinite(next_points), next_points, points)
    if stray.any() and not stray.all():
        nearest = points[~stray][squared_distances(points[stray], points[~stray]).argmin(axis=1)]
        kept[stray] = (points[stray] + nearest) / 2
    return kept
