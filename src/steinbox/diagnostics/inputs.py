"""Checks of what the diagnostics accept: points, their weights, and values or functions of the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, IntegerArray

Values: TypeAlias = npt.ArrayLike | Callable[[Array], npt.ArrayLike]


def as_points(name: str, points: npt.ArrayLike) -> Array:
    """The points as an array (n, d); at least two, all finite."""
    array = _as_float(name, points)
    if array.ndim != 2 or len(array) < 2 or array.shape[1] == 0:
        raise ValueError(f"expected {name} of shape (n, d) with at least two rows, got {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ValueError(f"expected only finite numbers in {name}; row {row} is {array[row].tolist()}")
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


def as_log_prob(log_prob: Values, points: Array) -> Array:
    """Values of the log-density at the points; −inf is allowed, but not everywhere."""
    values = _values_at("log_prob", log_prob, points, points.shape[:1])
    if np.isnan(values).any() or (values == np.inf).any():
        row = int(np.flatnonzero(np.isnan(values) | (values == np.inf))[0])
        raise ValueError(f"expected log_prob to be finite or -inf, got {values[row]} at row {row}")
    if not np.isfinite(values).any():
        raise ValueError("expected a finite log_prob for at least one point: all points are outside the support")
    return values


def as_values(name: str, values: Values, points: Array) -> Array:
    """One finite number for every point."""
    array = _values_at(name, values, points, points.shape[:1])
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"expected {name} to be finite, got {array[row]} at row {row}")
    return array


def as_score(score: Values, points: Array, rows: IntegerArray) -> Array:
    """Gradients of the log-density at some of the points; at the others they may be anything."""
    values = _values_at("the score", score, points, points.shape)[rows]
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise ValueError(f"expected a finite score, got {values[bad].tolist()} at row {rows[bad]}")
    return values


def _values_at(name: str, values: Values, points: Array, shape: tuple[int, ...]) -> Array:
    array = _as_float(name, values(points.copy()) if callable(values) else values)
    if array.shape != shape:
        hint = "; the function is called once, with all points as rows" if callable(values) else ""
        raise ValueError(f"expected {name} to have shape {shape} for {len(points)} points, got {array.shape}{hint}")
    return array


def _as_float(name: str, values: npt.ArrayLike) -> Array:
    if np.ma.is_masked(values):
        raise ValueError(f"expected {name} without a mask; leave the masked rows out")
    if np.iscomplexobj(values):
        raise ValueError(f"expected real numbers in {name}, got complex ones")
    return np.asarray(values, dtype=np.float64)
