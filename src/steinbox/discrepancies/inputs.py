"""What the discrepancies accept: points, weights on them, and values or functions of the target; checked in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from steinbox.types import Array, IntegerArray

Statistic: TypeAlias = Literal["v", "u"]
Values: TypeAlias = npt.ArrayLike | Callable[[Array], npt.ArrayLike]


def as_points(name: str, points: npt.ArrayLike) -> Array:
    """At least two finite points, (n, d)."""
    array = np.asarray(points, dtype=np.float64)
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
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (num_points,) or not np.all(array >= 0) or not 0 < array.sum() < np.inf:
        raise ValueError(f"expected {num_points} weights that are at least 0 and not all 0, got shape {array.shape}")
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


def signed_root(square: float, statistic: Statistic) -> float:
    """The root of a squared discrepancy: a U-statistic may be below zero and keeps its sign, rounding does not."""
    if statistic == "v":
        return float(np.sqrt(max(square, 0.0)))
    return float(np.sign(square) * np.sqrt(abs(square)))


def _at_points(name: str, values: Values, x: Array, shape: tuple[int, ...]) -> Array:
    array = np.asarray(values(x) if callable(values) else values, dtype=np.float64)
    if array.shape != shape:
        hint = "; the function is called once, with all points as rows" if callable(values) else ""
        raise ValueError(f"expected {name} to have shape {shape} for {len(x)} points, got {array.shape}{hint}")
    return array
