"""From points to values: the only room in which the user's code runs."""

from steinbox.evaluate.archive import Archive
from steinbox.evaluate.calls import Calls
from steinbox.evaluate.evaluator import Account, Evaluation, Evaluator, TargetError
from steinbox.evaluate.executors import as_workers
from steinbox.evaluate.faults import Failure
from steinbox.evaluate.workers import Workers, WorkersLostError

__all__ = [
    "Account",
    "Archive",
    "Calls",
    "Evaluation",
    "Evaluator",
    "Failure",
    "TargetError",
    "Workers",
    "WorkersLostError",
    "as_workers",
]
