"""Failed evaluations: their kinds, and the report of how many there were."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable

_MAX_MESSAGE = 1000  # characters
_MAX_TRACEBACK = 10_000  # characters
_OWN_FOLDERS = tuple(str(Path(__file__).parents[1] / room) for room in ("evaluation", "adapters", "model"))


class FaultKind(StrEnum):
    """How an evaluation failed."""

    EXCEPTION = "exception"
    NAN = "nan"
    INFINITE = "infinite"
    NO_NUMBER = "no number"
    TIMEOUT = "timeout"
    DEAD_WORKER = "dead worker"


@dataclass(frozen=True)
class Fault:
    """One failed evaluation: its kind, a sentence, and the user's traceback if there is one."""

    kind: FaultKind
    message: str
    traceback: str = ""


def fault_of_exception(error: BaseException) -> Fault:
    """What was raised, the deepest line of the user's own file on the way there, and their part of the traceback."""
    report = traceback.TracebackException.from_exception(error)  # reads its message safely
    frames = [frame for frame in report.stack if not frame.filename.startswith(_OWN_FOLDERS)]
    theirs = [frame for frame in frames if frame.filename == frames[0].filename]
    where = f" (line {theirs[-1].lineno} of {theirs[-1].filename})" if theirs else ""
    text = "".join([*traceback.format_list(frames), *report.format_exception_only()])
    message = f"{type(error).__name__}: {str(report)[:_MAX_MESSAGE]}{where}"
    return Fault(FaultKind.EXCEPTION, message, text.rstrip()[-_MAX_TRACEBACK:])


_SIGNS_OF_ROWS = ("too many indices for array", "axis 1 is out of bounds", "returned shape")
_SIGNS_OF_ONE_POINT = (
    "mismatch in its core dimension",  # x @ x
    "only 0-dimensional arrays can be converted",  # float(x[0]), math.exp(x[0])
    "only length-1 arrays can be converted",
    "truth value of an array",  # if x[0] > 0
)


def hint_for_shape(fault: Fault, *, is_vectorized: bool) -> str:
    """A question, if the function may have expected all points at once, one in each row, or a single one."""
    signs = _SIGNS_OF_ONE_POINT if is_vectorized else _SIGNS_OF_ROWS
    if not any(sign in fault.message for sign in signs):
        return ""
    if is_vectorized:
        return ". Is it a function of one point? Then leave vectorized=True out"
    return ". Does it take all points at once, one in each row? Then set vectorized=True"


@serializable("evaluation-failure")
@dataclass(frozen=True)
class Failure:
    """All failed evaluations of one kind: how many, and the first of them."""

    count: int
    point: tuple[float, ...]
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"at x = {list(self.point)}: {self.message}"

    def to_json(self) -> dict[str, Any]:
        """A dictionary that :meth:`from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failure:
        """A failure from what :meth:`to_json` returned."""
        return cls(int(data["count"]), tuple(map(float, data["point"])), str(data["message"]), str(data["traceback"]))


def count_failures(failures: Mapping[str, Failure]) -> int:
    """All of them, of every kind."""
    return sum(failure.count for failure in failures.values())


def add_fault(failures: Mapping[str, Failure], point: Array, fault: Fault) -> dict[str, Failure]:
    """The report after one more failed evaluation; of each kind the first is kept."""
    known = failures.get(fault.kind.value)
    if known is not None:
        return {**failures, fault.kind.value: replace(known, count=known.count + 1)}
    first = Failure(1, tuple(point.tolist()), fault.message, fault.traceback)
    return {**failures, fault.kind.value: first}
