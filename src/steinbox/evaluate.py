"""The only place that runs the user's code: it counts, judges and isolates every evaluation."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from steinbox.types import Array, Mask

Function: TypeAlias = Callable[[Any], Any]
T = TypeVar("T")


class TargetError(RuntimeError):
    """The user's function raised, or returned what no log-density can be, at every point it was given."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came back for one batch of points.

    ``log_prob`` is −inf outside the support and where the evaluation failed; ``failed`` tells the two apart. ``score``
    is there for methods that need it.
    """

    log_prob: Array
    failed: Mask
    score: Array | None = None


@dataclass(frozen=True)
class Failure:
    """The first failed evaluation: where, and what happened."""

    point: tuple[float, ...]
    reason: str

    def __str__(self) -> str:
        return f"at x = {list(self.point)}: {self.reason}"


class Evaluator:
    """Evaluates batches of points, at most ``max_evals`` of them in all.

    A call that raises, or returns NaN, +inf or something that is no real number, makes that one point *failed*; the
    rest of the batch is unharmed. A vectorised function that raises is called again row by row to find the culprits.

    Parameters
    ----------
    log_prob : callable
        ``(d,) -> float``, or ``(n, d) -> (n,)`` if ``vectorized``.
    score : callable, optional
        ``(d,) -> (d,)``, or ``(n, d) -> (n, d)``.
    """

    def __init__(self, log_prob: Function, *, score: Function | None, vectorized: bool, max_evals: int) -> None:
        self._log_prob = log_prob
        self._score = score
        self._vectorized = vectorized
        self.max_evals = max_evals
        self.num_evals = 0
        self.num_failures = 0
        self.first_failure: Failure | None = None
        self._first_exception: Exception | None = None

    @property
    def num_remaining(self) -> int:
        """Evaluations left in the budget."""
        return self.max_evals - self.num_evals

    def __call__(self, points: Array) -> Evaluation:
        """Evaluate every row of ``points``."""
        if len(points) > self.num_remaining:
            raise ValueError(f"{len(points)} evaluations asked for, {self.num_remaining} left of {self.max_evals}")
        self._first_exception = None
        values, reasons = self._values(points)
        score = None if self._score is None else self._scores(self._score, points, values, reasons)
        failed = np.array([reason is not None for reason in reasons], dtype=bool)
        self._record(points, reasons, failed)
        return Evaluation(np.where(failed, -np.inf, values), failed, score)

    def raise_if_all_failed(self, evaluation: Evaluation) -> None:
        """Turn a batch in which nothing worked into an error that shows the user's own."""
        if evaluation.failed.all():
            raise TargetError(
                f"all {len(evaluation.failed)} evaluations of the first batch failed; "
                f"the first one {self.first_failure}"
            ) from self._first_exception

    def _values(self, points: Array) -> tuple[Array, list[str | None]]:
        rows = self._rows(self._log_prob, points, "log_prob", ())
        judged = [_guarded(_judge_value, row, -np.inf) for row in rows]
        return np.array([value for value, _ in judged]), [reason for _, reason in judged]

    def _scores(self, function: Function, points: Array, values: Array, reasons: list[str | None]) -> Array:
        """Scores; a bad one fails its point, unless that lies outside the support, where a score may be anything."""
        score = np.zeros_like(points)
        judge, zero = partial(_judge_score, dimension=points.shape[1]), np.zeros(points.shape[1])
        for i, row in enumerate(self._rows(function, points, "score", points.shape[1:])):
            score[i], reason = _guarded(judge, row, zero)
            if np.isfinite(values[i]):
                reasons[i] = reason
        return score

    def _rows(self, function: Function, points: Array, name: str, row_shape: tuple[int, ...]) -> list[object]:
        """One outcome per point: what the function returned, or the exception it raised."""
        if not self._vectorized:
            return [self._call(function, point.copy()) for point in points]
        batch = self._call(lambda x: _to_numpy(function(x)), points.copy())
        if not isinstance(batch, np.ndarray):
            rows = [self._call(lambda x: _to_numpy(function(x)), point[None].copy()) for point in points]
            return [_only_row(row) for row in rows]
        if batch.shape == (len(points), 1) and not row_shape:
            batch = batch[:, 0]
        expected = (len(points), *row_shape)
        if batch.shape == expected:
            return list(batch)
        hint = "" if row_shape else " Is it a function of one point? Then leave vectorized=False."
        error = ValueError(
            f"expected {name} to return shape {expected} for points of shape {points.shape} (vectorized=True), "
            f"got shape {batch.shape}.{hint}"
        )
        return [error] * len(points)

    def _call(self, function: Function, argument: object) -> object:
        try:
            with np.errstate(all="ignore"):
                result: object = function(argument)
            return result
        except Exception as error:  # the user's code may raise anything; it is recorded, not hidden
            self._first_exception = self._first_exception or error
            return error

    def _record(self, points: Array, reasons: list[str | None], failed: Mask) -> None:
        self.num_evals += len(points)
        self.num_failures += int(failed.sum())
        if self.first_failure is None and failed.any():
            i = int(np.flatnonzero(failed)[0])
            self.first_failure = Failure(tuple(points[i].tolist()), reasons[i] or "")


def _to_numpy(value: object) -> np.ndarray[Any, Any]:
    """NumPy's view of a list, a number, or a JAX or torch array, also of one that torch tracks gradients through."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _only_row(outcome: object) -> object:
    """What a vectorised function returned for one point, or the exception it raised."""
    if not isinstance(outcome, np.ndarray):
        return outcome
    return outcome[0] if outcome.ndim and len(outcome) == 1 else ValueError(f"got {_show(outcome)} for one point")


def _guarded(judge: Callable[[object], tuple[T, str | None]], outcome: object, value: T) -> tuple[T, str | None]:
    """Judge an object of the user's, whose own methods may raise."""
    try:
        return judge(outcome)
    except Exception as error:
        return value, f"{type(error).__name__} while reading what was returned"


def _judge_value(outcome: object) -> tuple[float, str | None]:
    """The value of log p, and why it is none if it is none."""
    if isinstance(outcome, Exception):
        return -np.inf, _describe_exception(outcome)
    array = _to_numpy(outcome)
    if array.size != 1 or array.dtype.kind not in "biuf":
        return -np.inf, f"log_prob returned {_show(outcome)}, expected one real number"
    value = float(array.reshape(()))
    if np.isnan(value) or value == np.inf:
        return -np.inf, f"log_prob returned {value}"
    return value, None


def _judge_score(outcome: object, dimension: int) -> tuple[Array, str | None]:
    zero = np.zeros(dimension)
    if isinstance(outcome, Exception):
        return zero, _describe_exception(outcome)
    array = _to_numpy(outcome)
    if array.shape != (dimension,) or array.dtype.kind not in "biuf":
        return zero, f"score returned {_show(outcome)}, expected {dimension} real numbers"
    if not np.all(np.isfinite(array)):
        return zero, "score returned values that are not finite"
    return array.astype(np.float64), None


def _describe_exception(error: Exception) -> str:
    """What was raised, and the deepest line of the user's own file on the way there."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    theirs = [frame for frame in frames if frame.filename == frames[0].filename]
    where = f" (line {theirs[-1].lineno} of {theirs[-1].filename})" if theirs else ""
    return f"{type(error).__name__}: {error}{where}"


def _show(outcome: object) -> str:
    shape = getattr(outcome, "shape", None)
    if shape not in (None, ()):
        return f"shape {tuple(shape)}"
    text = repr(outcome)
    return f"{text if len(text) < 60 else text[:57] + '...'} ({type(outcome).__name__})"
