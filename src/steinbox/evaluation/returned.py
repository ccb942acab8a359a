"""What the user's functions returned, read as numbers: a value that is none becomes a fault of its point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.evaluation.faults import Fault, FaultKind

_MAX_SHOWN = 59  # characters of a returned object, in a message


def read_log_prob(outcome: object) -> tuple[float, Fault | None]:
    """The value that a log-density returned for one point, or −inf and a fault."""
    value, fault = _read(_read_number, outcome, -np.inf)
    return value, fault


def read_score(outcome: object, dimension: int) -> tuple[Array, Fault | None]:
    """The gradient that a score returned for one point, or zeros and a fault."""

    def read_array(returned: object) -> tuple[Array, Fault | None]:
        array = _to_numpy(returned)
        if array.shape != (dimension,) or array.dtype.kind not in "biuf":
            message = f"score returned {_show(returned)}, expected {dimension} real numbers"
            return np.zeros(dimension), Fault(FaultKind.NO_NUMBER, message)
        if not np.all(np.isfinite(array)):
            kind = FaultKind.NAN if np.isnan(array).any() else FaultKind.INFINITE
            return np.zeros(dimension), Fault(kind, "score returned values that are not finite")
        return array.astype(np.float64), None

    score, fault = _read(read_array, outcome, np.zeros(dimension))
    return score, fault


def read_log_probs(batch: object, shape: tuple[int, ...]) -> tuple[Array, list[Fault | None]]:
    """One value per point from what a vectorized log-density returned, and a fault for each that is none."""
    array, fault = _read(lambda returned: (_to_numpy(returned), None), batch, np.empty(0))
    if array.shape == (shape[0], 1):
        array = array[:, 0]
    if fault is None and array.shape != shape[:1]:
        hint = " Is it a function of one point? Then leave vectorized=False."
        fault = _wrong_shape("log_prob", shape[:1], shape, array.shape, hint)
    if fault is not None:
        return np.full(shape[0], -np.inf), [fault] * shape[0]
    if not _needs_checks(array):
        return array.astype(np.float64), [None] * shape[0]
    read = [read_log_prob(row) for row in array]
    return np.array([value for value, _ in read]), [fault for _, fault in read]


def read_scores(
    slopes: object, values: Array, faults: list[Fault | None], shape: tuple[int, ...]
) -> tuple[Array, list[Fault | None]]:
    """Scores; a bad one fails its point, unless that lies outside the support, where a score may be anything."""
    array, fault = _read(lambda returned: (_to_numpy(returned), None), slopes, np.empty(0))
    if fault is None and array.shape != shape:
        fault = _wrong_shape("score", shape, shape, array.shape)
    if fault is None and not _needs_checks(array):
        return array.astype(np.float64), faults
    rows = [(np.zeros(shape[1]), fault)] * shape[0] if fault else [read_score(row, shape[1]) for row in array]
    inside = np.isfinite(values)
    return np.array([score for score, _ in rows]), [
        rows[i][1] if inside[i] else earlier for i, earlier in enumerate(faults)
    ]


def _read(reader: Callable[[object], tuple[Any, Fault | None]], outcome: object, value: Any) -> tuple[Any, Any]:
    """Apply a reader to an object of the user's, whose own methods may raise."""
    if isinstance(outcome, Fault):
        return value, outcome
    try:
        return reader(outcome)
    except Exception as error:
        message = f"expected numbers, got {type(outcome).__name__}, which raised {type(error).__name__} when read"
        return value, Fault(FaultKind.NO_NUMBER, message)


def _read_number(outcome: object) -> tuple[float, Fault | None]:
    """The value of log p, or −inf and a fault."""
    array = _to_numpy(outcome)
    if array.size != 1 or array.dtype.kind not in "biuf":
        return -np.inf, Fault(FaultKind.NO_NUMBER, f"log_prob returned {_show(outcome)}, expected one real number")
    value = float(array.reshape(()))
    if np.isnan(value) or value == np.inf:
        return -np.inf, Fault(FaultKind.NAN if np.isnan(value) else FaultKind.INFINITE, f"log_prob returned {value}")
    return value, None


def _needs_checks(array: np.ndarray[Any, Any]) -> bool:
    """Whether the rows must be read one by one: not all of them are finite real numbers."""
    return array.dtype.kind not in "biuf" or not np.isfinite(array).all()


def _to_numpy(value: object) -> np.ndarray[Any, Any]:
    """NumPy's view of a list, a number, or a JAX or torch array, also of one that torch tracks gradients through."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _wrong_shape(
    name: str, expected: tuple[int, ...], points: tuple[int, ...], got: tuple[int, ...], hint: str = ""
) -> Fault:
    return Fault(
        FaultKind.NO_NUMBER,
        f"expected {name} to return shape {expected} for points of shape {points} (vectorized=True), got shape {got}."
        + hint,
    )


def _show(outcome: object) -> str:
    """An object in a few words: its shape, or the start of its text and its type."""
    shape = getattr(outcome, "shape", None)
    if shape not in (None, ()):
        return f"shape {tuple(shape)}"
    text = repr(outcome)
    return f"{text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 2] + '...'} ({type(outcome).__name__})"
