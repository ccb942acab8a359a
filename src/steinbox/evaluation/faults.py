"""What can go wrong with an evaluation, and the report of what did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable


class FaultKind(StrEnum):
    """In what way an evaluation failed."""

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
        """What :meth:`from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failure:
        """What :meth:`to_json` gave."""
        return cls(int(data["count"]), tuple(map(float, data["point"])), str(data["message"]), str(data["traceback"]))


def with_fault(failures: Mapping[str, Failure], point: Array, fault: Fault) -> dict[str, Failure]:
    """The report after one more failed evaluation; the first of each kind is the one that is shown."""
    known = failures.get(fault.kind.value)
    if known is not None:
        return {**failures, fault.kind.value: replace(known, count=known.count + 1)}
    first = Failure(1, tuple(point.tolist()), fault.message, fault.traceback)
    return {**failures, fault.kind.value: first}
