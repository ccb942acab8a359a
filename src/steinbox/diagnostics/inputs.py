"""What the discrepancies accept: points, weights on them, and values or functions of the target; checked in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, IntegerArray

Statistic: TypeAlias = Literal["v", "u"]
Values: TypeAlias = npt.ArrayLike | Callable[[Array], npt.ArrayLike]


def as_points(name: str, points: npt.ArrayLike) -> Array:
    """At least two finite points, (n, d)."""
    array = _as_float(name, points)
    if array.ndim != 2 or len(array) < 2 or array.shape[1] == 0:
        raise ValueError(f"expected {name} of shape (n, d) with at least two rows, got {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ValueError(f"expected finite points in {name}; row {row} is {array[row].tolist()}")
    return array


def as_weights(weights: npt.ArrayLike | None, num_points: int) -> Array:
    """Weights that sum to one; equal if not given."""
    if weights is None:
        return np.full(num_points, 1 / num_points)
    array = _as_float("weights", weights)
    if array.shape != (num_points,):
        raise ValueError(f"expected {num_points} weights, got shape {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise ValueError(f"expected finite weights of at least 0, got {array[bad[0]]} at row {bad[0]}")
    if not array.any():
        raise ValueError("expected weights that are not all 0")
    return np.asarray(array / array.sum())


def as_log_target(log_target: Values, x: Array) -> Array:
    """Values of the log-target at the points; −inf is allowed, but not everywhere."""
    values = _at_points("the log-density", log_target, x, x.shape[:1])
    if np.isnan(values).any() or (values == np.inf).any():
        row = int(np.flatnonzero(np.isnan(values) | (values == np.inf))[0])
        raise ValueError(f"expected log-densities that are finite or -inf, got {values[row]} at row {row}")
    if not np.isfinite(values).any():
        raise ValueError("expected a finite log-density at one point at least: all are -inf, outside the support")
    return values


def as_score(score: Values, x: Array, rows: IntegerArray) -> Array:
    """Gradients of the log-target at some of the points; at the others they may be anything."""
    values = _at_points("the score", score, x, x.shape)[rows]
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise ValueError(f"expected a finite score, got {values[bad].tolist()} at row {rows[bad]}")
    return values


def require_statistic(statistic: str) -> None:
    """Only "v" and "u" are known."""
    if statistic not in ("v", "u"):
        raise ValueError(f"expected statistic 'v' or 'u', got {statistic!r}")


def without_diagonal(double_sum: float, diagonal: float, weights: Array) -> float:
    """A U-statistic: leave out the pairs of a point with itself, and divide by the weight that remains."""
    remaining = 1 - float(weights @ weights)
    if remaining < 1e-12:
        raise ValueError("expected weights on two points at least for a U-statistic: one point carries all the weight")
    return (double_sum - diagonal) / remaining


def signed_root(square: float, statistic: Statistic) -> float:
    """The root of a squared discrepancy: a U-statistic may be below zero and keeps its sign, rounding does not."""
    if statistic == "v":
        return float(np.sqrt(max(square, 0.0)))
    return float(np.sign(square) * np.sqrt(abs(square)))


def _at_points(name: str, values: Values, x: Array, shape: tuple[int, ...]) -> Array:
    array = _as_float(name, values(x.copy()) if callable(values) else values)
    if array.shape != shape:
        hint = "; the function is called once, with all points as rows" if callable(values) else ""
        raise ValueError(f"expected {name} to have shape {shape} for {len(x)} points, got {array.shape}{hint}")
    return array


def _as_float(name: str, values: npt.ArrayLike) -> Array:
    if np.ma.is_masked(values):
        raise ValueError(f"expected {name} without a mask; leave the masked rows out")
    if np.iscomplexobj(values):
        raise ValueError(f"expected real numbers in {name}, got complex ones")
    return np.asarray(values, dtype=np.float64)
