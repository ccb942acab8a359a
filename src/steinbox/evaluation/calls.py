"""Calls of the user's functions. This runs wherever the evaluations run, also in another process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.evaluation.derived import Quantities, read_quantities, read_rows, take_apart
from steinbox.evaluation.faults import Fault, FaultKind, fault_of_exception

Function: TypeAlias = Callable[..., Any]
_REAL = "iuf"  # kinds of NumPy types; a truth value is no log-density
_LOG_LIKELIHOOD = "log_likelihood"  # the name under which a likelihood is kept if there is a prior
MAX_LOG_PROB = 1e16  # in size: beyond, neighboring numbers are two nats apart or more, and say little of a density
_MAX_SHOWN = 59  # characters of a returned object, in a message


@dataclass(frozen=True, eq=False)
class Block:
    """Points to evaluate together, with their numbers among all evaluations of the run."""

    points: Array
    numbers: IntegerArray
    num_deaths: int = 0

    def singles(self, num_deaths: int = 0) -> list[Block]:
        """One block for each point."""
        rows = [slice(i, i + 1) for i in range(len(self.points))]
        return [Block(self.points[row], self.numbers[row], num_deaths) for row in rows]


@dataclass(frozen=True, eq=False)
class Values:
    """What the calls for a block returned; −inf, and a fault, where one failed.

    ``derived`` is empty if no call returned any quantities beside its log-density.
    """

    log_prob: Array
    score: Array
    faults: tuple[Fault | None, ...]
    seconds: Array
    derived: tuple[Quantities, ...] = ()

    def singles(self) -> list[Values]:
        """Those of each point."""
        rows = [slice(i, i + 1) for i in range(len(self.log_prob))]
        names = ("log_prob", "score", "faults", "seconds", "derived")
        return [Values(*(getattr(self, name)[row] for name in names)) for row in rows]

    @classmethod
    def outside(cls, block: Block) -> Values:
        """Those of points outside the support."""
        num_points = len(block.points)
        nothing = np.full(num_points, -np.inf), np.zeros_like(block.points), (None,) * num_points
        return cls(*nothing, np.zeros(num_points))


class Prior(Protocol):
    """A log-density that is added to the user's, and its score; cheap, and known for all points at once."""

    def log_prob(self, points: Array) -> Array:
        """At the rows of ``points``."""
        ...

    def score(self, points: Array) -> Array:
        """Its gradient there."""
        ...


@dataclass(frozen=True, eq=False)
class Calls:
    """The user's functions and how to call them.

    Parameters
    ----------
    log_prob, score : callable
        Of one point, or of a block of them if ``vectorized``.
    takes_rng : bool
        Whether ``log_prob`` has a parameter ``rng``: it gets a generator that depends on the seed and on the
        evaluation's number alone (a list of them, one per point, if ``vectorized``).
    retries : int
        How often a call that raises is repeated.
    prior : Prior, optional
        Added to ``log_prob``, which is then a likelihood and is not called where the prior is zero.
    """

    log_prob: Function
    score: Function | None = None
    vectorized: bool = False
    takes_rng: bool = False
    seed: int = 0
    retries: int = 0
    prior: Prior | None = None

    def __call__(self, block: Block) -> Values | Fault:
        """Checked values at the points, or one fault if a vectorized function raised, whichever point caused it."""
        return self._evaluate(block) if self.prior is None else self._evaluate_with(self.prior, block)

    def _evaluate(self, block: Block) -> Values | Fault:
        return self._evaluate_together(block) if self.vectorized else self._evaluate_each(block)

    def _evaluate_with(self, prior: Prior, block: Block) -> Values | Fault:
        """The values with the prior added, −inf where that is zero."""
        log_prior = prior.log_prob(block.points)
        inside = np.flatnonzero(np.isfinite(log_prior))
        values = Values.outside(block)
        if inside.size == 0:
            return values
        found = self._evaluate(Block(block.points[inside], block.numbers[inside]))
        if isinstance(found, Fault):
            return found
        values.log_prob[inside] = found.log_prob + log_prior[inside]
        values.seconds[inside] = found.seconds
        if self.score is not None:
            values.score[inside] = found.score + prior.score(block.points[inside])
        faults: list[Fault | None] = [None] * len(block.points)
        derived: list[Quantities] = [{}] * len(block.points)
        for k, row in enumerate(inside):
            faults[row] = found.faults[k]
            own = found.derived[k] if found.derived else {}
            derived[row] = own if faults[row] else {_LOG_LIKELIHOOD: found.log_prob[k], **own}
        return replace(values, faults=tuple(faults), derived=tuple(derived))

    def _evaluate_each(self, block: Block) -> Values:
        values, scores = np.empty(len(block.points)), np.zeros_like(block.points)
        seconds, faults, derived = np.empty(len(block.points)), [], []
        for i, (point, number) in enumerate(zip(block.points, block.numbers, strict=True)):
            start = time.perf_counter()
            outcome, beside = take_apart(self._call(self.log_prob, point, number))
            quantities, strange = read_quantities(beside)
            values[i], fault = read_log_prob(strange or outcome)
            if self.score is not None and np.isfinite(values[i]):
                scores[i], fault = read_score(self._call(self.score, point), len(point))
            faults.append(fault)
            derived.append(quantities)
            seconds[i] = time.perf_counter() - start
        return _make_values(values, scores, faults, seconds, derived)

    def _evaluate_together(self, block: Block) -> Values | Fault:
        start = time.perf_counter()
        batch, beside = take_apart(self._call(self.log_prob, block.points, block.numbers))
        slopes = None if self.score is None or isinstance(batch, Fault) else self._call(self.score, block.points)
        seconds = (time.perf_counter() - start) / len(block.points)
        for outcome in (batch, slopes):
            if isinstance(outcome, Fault):
                return outcome
        derived, strange = read_rows(beside, len(block.points))
        values, faults = read_log_probs(strange or batch, block.points.shape)
        scores = np.zeros_like(block.points)
        if self.score is not None:
            scores, faults = read_scores(slopes, values, faults, block.points.shape)
        return _make_values(values, scores, faults, np.full(len(values), seconds), derived)

    def _call(self, function: Function, points: Array, numbers: Any = None) -> object:
        """What the function returned, or the last fault if it raised at every attempt."""
        for attempt in range(self.retries):
            outcome = self._attempt(function, points, numbers, attempt)
            if not isinstance(outcome, Fault):
                return outcome
        return self._attempt(function, points, numbers, self.retries)

    def _attempt(self, function: Function, points: Array, numbers: Any, attempt: int) -> object:
        random = {"rng": self._generators(numbers, attempt)} if self.takes_rng and numbers is not None else {}
        try:
            with np.errstate(all="ignore"):
                result: object = function(points.copy(), **random)
            return result
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the user's code may raise anything; it is reported, not hidden
            return fault_of_exception(error)

    def _generators(self, numbers: Any, attempt: int) -> Any:
        if np.ndim(numbers):
            return [self._generators(number, attempt) for number in numbers]
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(int(numbers), attempt)))


def _make_values(
    values: Array, scores: Array, faults: list[Fault | None], seconds: Array, derived: Sequence[Quantities]
) -> Values:
    failed = [fault is not None for fault in faults]
    kept = tuple(derived) if any(derived) else ()
    return Values(np.where(failed, -np.inf, values), scores, tuple(faults), seconds, kept)


def read_log_prob(outcome: object) -> tuple[float, Fault | None]:
    """The value that a log-density returned for one point, or −inf and a fault."""
    value, fault = _read(_read_number, outcome, -np.inf)
    return value, fault


def read_score(outcome: object, dimension: int) -> tuple[Array, Fault | None]:
    """The gradient that a score returned for one point, or zeros and a fault."""

    def read_array(returned: object) -> tuple[Array, Fault | None]:
        array = _to_numpy(returned)
        if array.shape != (dimension,) or array.dtype.kind not in _REAL:
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
        hint = " Is it a function of one point? Then leave vectorized=True out."
        fault = _wrong_shape("log_prob", shape[:1], shape, array.shape, hint)
    if fault is not None:
        return np.full(shape[0], -np.inf), [fault] * shape[0]
    if not _needs_checks(array):
        return array.astype(np.float64), [None] * shape[0]
    rows: Any = batch.reshape(-1) if isinstance(batch, np.ma.MaskedArray) else array
    read = [read_log_prob(row) for row in rows]
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
    if array.size != 1 or array.dtype.kind not in _REAL:
        return -np.inf, Fault(FaultKind.NO_NUMBER, f"log_prob returned {_show(outcome)}, expected one real number")
    value = float(array.reshape(()))
    if _is_masked(outcome):
        return -np.inf, Fault(FaultKind.NO_NUMBER, "log_prob returned a masked number, expected one that is not")
    if np.isnan(value) or value > MAX_LOG_PROB:
        remark = f", above {MAX_LOG_PROB:g}, where numbers are too coarse for a density" if np.isfinite(value) else ""
        kind = FaultKind.NAN if np.isnan(value) else FaultKind.INFINITE
        return -np.inf, Fault(kind, f"log_prob returned {value}{remark}")
    return (-np.inf if value < -MAX_LOG_PROB else value), None


def _needs_checks(array: np.ndarray[Any, Any]) -> bool:
    """Whether the rows must be read one by one: not all of them are real numbers of a size that means something."""
    return array.dtype.kind not in _REAL or not (np.abs(array) <= MAX_LOG_PROB).all()


def _to_numpy(value: Any) -> np.ndarray[Any, Any]:
    """NumPy's view of a list, a number, or a JAX or torch array, also of one that torch tracks gradients through.

    What is masked is NaN: the number below a mask means nothing.
    """
    if _is_masked(value):
        return np.asarray(np.ma.filled(value.astype(np.float64), np.nan))
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _is_masked(value: Any) -> bool:
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


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
