"""From points to values: the only room in which the user's code runs."""

from steinbox.evaluation.archive import Archive, require_counts
from steinbox.evaluation.calls import MAX_LOG_PROB, Calls
from steinbox.evaluation.evaluator import (
    MIN_TO_BEGIN,
    Account,
    Evaluator,
    StoppedError,
    TargetError,
    TimeSpentError,
)
from steinbox.evaluation.executors import as_workers
from steinbox.evaluation.faults import Failure, count_failures
from steinbox.evaluation.stream import Stream
from steinbox.evaluation.types import Evaluation
from steinbox.evaluation.unfinished import Unfinished
from steinbox.evaluation.workers import Workers, WorkersLostError

__all__ = [
    "MAX_LOG_PROB",
    "MIN_TO_BEGIN",
    "Account",
    "Archive",
    "Calls",
    "Evaluation",
    "Evaluator",
    "Failure",
    "StoppedError",
    "Stream",
    "TargetError",
    "TimeSpentError",
    "Unfinished",
    "Workers",
    "WorkersLostError",
    "as_workers",
    "count_failures",
    "require_counts",
]
