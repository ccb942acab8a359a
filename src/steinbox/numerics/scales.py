"""Standard deviations that are never zero."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array


def positive_std(x: Array) -> Array:
    """Standard deviations of the columns; zeros are replaced by a tiny number, so that one can divide by them."""
    scales = x.std(axis=0)
    smallest = 1e-8 * max(float(scales.max()), float(np.finfo(np.float64).tiny) ** 0.5)
    vanishes = scales <= 4 * np.finfo(np.float64).eps * np.abs(x).max(axis=0)
    return np.asarray(np.where(vanishes, smallest, scales))
