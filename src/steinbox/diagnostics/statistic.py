"""V- and U-statistics: double sums over a sample, with and without the pairs of a point with itself."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from steinbox.common.arrays import Array

Statistic: TypeAlias = Literal["v", "u"]

_MIN_PAIR_WEIGHT = 1e-12  # of all pairs of different points; below, one point carries all weight but for rounding


def require_statistic(statistic: str) -> None:
    """Refuse anything but "v" and "u"."""
    if statistic not in ("v", "u"):
        raise ValueError(f"expected statistic 'v' or 'u', got {statistic!r}")


def u_statistic(double_sum: float, diagonal: float, weights: Array) -> float:
    """Leave out the pairs of a point with itself, and divide by the weight of the other pairs."""
    remaining = 1 - float(weights @ weights)
    if remaining < _MIN_PAIR_WEIGHT:
        raise ValueError("expected at least two points with weight for a U-statistic: one point carries all the weight")
    return (double_sum - diagonal) / remaining


def signed_root(square: float, statistic: Statistic) -> float:
    """The root of a squared discrepancy: a U-statistic may be negative and keeps its sign, a V-statistic is clipped."""
    if statistic == "v":
        return float(np.sqrt(max(square, 0.0)))
    return float(np.sign(square) * np.sqrt(abs(square)))
