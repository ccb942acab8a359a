"""Why a run ended: an enum in which every member is a sentence."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Why a run ended; ``str(status)`` is the sentence. Only what a live view shows is of a run that goes on.

    Examples
    --------
    >>> import steinbox as sb
    >>> print(sb.Status.BUDGET_SPENT)
    The budget of evaluations was spent.
    >>> sb.Status.INTERRUPTED.is_complete
    False
    """

    RUNNING = "The run is still going; the particles are those of its last complete iteration."
    FINISHED = "The run is complete: it did everything that the method and its settings ask for."
    CONVERGED = "The method has converged: more evaluations would hardly change the particles."
    BUDGET_SPENT = "The budget of evaluations was spent."
    TIME_SPENT = "The time ran out (max_seconds); the particles are those of the last complete iteration."
    INTERRUPTED = "Interrupted by the user; the particles are those of the last complete iteration."
    TERMINATED = (
        "Ended by a signal, such as schedulers send (SIGTERM or SIGHUP); the particles are those of the last complete "
        "iteration."
    )
    STOPPED_BY_CALLBACK = "The callback asked to stop."
    CALLBACK_FAILED = "The callback raised an exception; the particles are those of the iteration it was shown."
    TARGET_FAILED = "Every evaluation of the last batch failed; the particles are those of the iteration before."
    SUPPORT_LOST = (
        "Every particle left the support of the target (log_prob was -inf everywhere); the particles are those of the "
        "iteration before."
    )
    TOO_MANY_FAILURES = (
        "More than max_failure_rate of the last evaluations failed: `failures` shows how and where. Outside the "
        "support return -inf, which does not count as a failure."
    )
    WORKERS_LOST = "The workers were lost; the particles are those of the last complete iteration."
    STALLED = "The method could not continue (`warnings` says why); the particles are those of the iteration before."

    def __str__(self) -> str:
        return self.value

    @property
    def is_complete(self) -> bool:
        """Whether the run came to the end it was planned for."""
        return self in (Status.FINISHED, Status.CONVERGED, Status.BUDGET_SPENT)
