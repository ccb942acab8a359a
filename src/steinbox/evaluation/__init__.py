"""From points to values: the only room in which the user's code runs."""

from steinbox.evaluation.archive import Archive
from steinbox.evaluation.calls import Calls
from steinbox.evaluation.evaluator import Account, Evaluator, TargetError, TimeSpentError
from steinbox.evaluation.executors import as_workers
from steinbox.evaluation.faults import Failure
from steinbox.evaluation.types import Evaluation
from steinbox.evaluation.workers import Workers, WorkersLostError

__all__ = [
    "Account",
    "Archive",
    "Calls",
    "Evaluation",
    "Evaluator",
    "Failure",
    "TargetError",
    "TimeSpentError",
    "Workers",
    "WorkersLostError",
    "as_workers",
]
