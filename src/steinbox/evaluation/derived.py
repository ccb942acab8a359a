"""Derived quantities: what a function returns beside its log-density, ``(log_prob, {name: value or array})``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.evaluation.faults import Fault, FaultKind

Quantities: TypeAlias = Mapping[str, Array]
"""Of one evaluation, by name; of none, if it has none."""


def take_apart(outcome: object) -> tuple[object, Mapping[Any, Any]]:
    """The log-density, or whatever else was returned, and the quantities beside it.

    Examples
    --------
    >>> take_apart((-1.5, {"r0": 2.0})), take_apart(-1.5)
    ((-1.5, {'r0': 2.0}), (-1.5, {}))
    """
    if isinstance(outcome, tuple) and len(outcome) == 2 and isinstance(outcome[1], Mapping):
        return outcome
    return outcome, {}


def read_quantities(given: Mapping[Any, Any]) -> tuple[Quantities, Fault | None]:
    """The quantities as arrays of numbers, NaN included, or a fault."""
    quantities: dict[str, Array] = {}
    for name, value in given.items():
        try:
            quantities[_checked_name(name)] = np.array(value, dtype=np.float64)
        except Exception as error:  # an object of the user's may raise anything
            message = f"expected numbers as the derived quantity {name!r}, got {type(value).__name__} ({error})"
            return {}, Fault(FaultKind.NO_NUMBER, message)
    return quantities, None


def read_rows(given: Mapping[Any, Any], num_points: int) -> tuple[list[Quantities], Fault | None]:
    """The quantities of each point, from those that a vectorized function returned for all."""
    columns, fault = read_quantities(given)
    for name, column in columns.items():
        if column.shape[:1] != (num_points,):
            message = f"expected {num_points} rows of the derived quantity {name!r}, got shape {column.shape}"
            fault = Fault(FaultKind.NO_NUMBER, message)
    if fault is not None or not columns:
        return [{}] * num_points, fault
    return [{name: column[i] for name, column in columns.items()} for i in range(num_points)], None


def stack(rows: Sequence[Quantities], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """One array per name, NaN where a row has nothing of that name and shape.

    Parameters
    ----------
    shapes : mapping of str to tuple
        What earlier evaluations had; the first row with a new name decides its shape.

    Examples
    --------
    >>> stack([{"r0": np.array(2.0)}, {}, {"r0": np.array([1.0, 2.0])}], {})
    {'r0': array([ 2., nan, nan])}
    """
    known = dict(shapes)
    for row in rows:
        for name, value in row.items():
            known.setdefault(name, value.shape)
    columns = {name: np.full((len(rows), *shape), np.nan) for name, shape in known.items()}
    for i, row in enumerate(rows):
        for name, value in row.items():
            if value.shape == known[name]:
                columns[name][i] = value
    return columns


def join(parts: Sequence[tuple[int, Mapping[str, Array]]]) -> dict[str, Array]:
    """The columns of several parts, each with its number of rows, below each other; NaN where a part has none."""
    shapes = {name: column.shape[1:] for _, columns in reversed(parts) for name, column in columns.items()}

    def column_of(name: str, num_rows: int, columns: Mapping[str, Array]) -> Array:
        column = columns.get(name)
        is_there = column is not None and column.shape[1:] == shapes[name]
        return column if is_there else np.full((num_rows, *shapes[name]), np.nan)  # type: ignore[return-value]

    return {name: np.concatenate([column_of(name, *part) for part in parts]) for name in shapes}


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"its name is a {type(name).__name__}, not text")
    return name
