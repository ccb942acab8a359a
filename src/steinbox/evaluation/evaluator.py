"""The only place that runs the user's code: it counts, checks and keeps every evaluation."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.evaluation.archive import Archive
from steinbox.evaluation.batch import Batch
from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.derived import Quantities, stack
from steinbox.evaluation.faults import Failure, Fault, FaultKind, add_fault, count_failures, hint_for_shape
from steinbox.evaluation.types import Evaluation
from steinbox.evaluation.unfinished import Unfinished, ValueLog
from steinbox.evaluation.workers import Dispatcher, InProcess, Workers
from steinbox.maps.bijection import Bijection, Identity

_RATE_WINDOW = 200  # last evaluations, over which the rate of failures is taken
_START_FRACTION = 0.05  # of the budget (a window at least): a start that is wide may fail more often
MAX_INITIAL_FAILURES = 50  # before the first success: if nine in ten places fail, as many do in one run of 200
_PROBE_RTOL, _PROBE_ATOL = 1e-10, 1e-8  # by which a value may change between two runs of the same function
MIN_TO_BEGIN = 10  # points that must have come back, to make a result of a first batch that was cut short
_MAX_CHANGE = 0.01  # nats by which a value may change within a run: a hundredth of the density
_IT_CHANGED = (
    "at the end of the run. Is it noisy? Then set noise=True, and give it a parameter `rng` to make runs repeatable. "
    "Does it depend on earlier calls? Then the particles are meaningless."
)
_IT_IS_RANDOM = (
    "with another `rng`, but noise= was not set: lucky values were taken for exact ones. Set noise=True, or the "
    "standard deviation of the noise."
)
_MAX_SECONDS_TO_REPEAT = 1.0  # of a call: a longer one is an expensive simulator, not to be run without being asked


class TargetError(RuntimeError):
    """The user's function raised, or returned something that is not a log-density, at every point it was given."""


class TimeSpentError(RuntimeError):
    """The time ran out in the middle of a batch."""


class StoppedError(RuntimeError):
    """Somebody asked to stop in the middle of a batch."""


@serializable("evaluation-account")
@dataclass(frozen=True, eq=False)
class Account:
    """What an evaluator has done so far, to restore it with the archive of that moment."""

    num_evals: int
    num_archived: int
    failures: dict[str, Failure]
    recent: tuple[bool, ...]
    probe: Probe | None


@serializable("evaluation-probe")
@dataclass(frozen=True, eq=False)
class Probe:
    """One evaluation, by which a resumed run checks that the function is the same."""

    point: Array
    number: int
    log_prob: float


class Evaluator:
    """Evaluates batches of points, at most ``max_evals`` of them in all.

    A call that raises, or returns NaN, +inf or something that is no real number, takes too long or kills its process
    makes that one point *failed*; the rest of the batch is unaffected. Ten failures before the first success point to a
    bug in the function, and stop the run.

    Samplers ask at free points; the user's function, the archive and the failures see the user's own parameters.
    """

    def __init__(
        self,
        calls: Calls,
        *,
        max_evals: int,
        workers: Workers | None = None,
        max_failure_rate: float = 0.2,
        max_seconds: float | None = None,
        transform: Bijection | None = None,
    ) -> None:
        self.transform = Identity() if transform is None else transform
        self._has_score, self._vectorized = calls.score is not None, calls.vectorized
        self._takes_rng, self._has_workers = calls.takes_rng, workers is not None
        self.dispatch = Dispatcher(InProcess(calls) if workers is None else workers, vectorized=calls.vectorized)
        self.max_evals, self.max_failure_rate, self.max_seconds = max_evals, max_failure_rate, max_seconds
        self._started = time.monotonic()
        self.num_evals = 0
        self._batch: Batch | None = None
        self._num_in_batch = 0
        self.is_stopped = False
        self.is_exploring = False
        self.failures: Mapping[str, Failure] = {}
        self._recent: deque[bool] = deque(maxlen=_RATE_WINDOW)
        self._archived: list[Archive] = []
        self._num_archived = 0
        self._probe: Probe | None = None
        self._call_seconds: list[float] = []
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.odd_quantities: set[str] = set()
        self.values = ValueLog()
        self.on_values: Callable[[], object] = lambda: None

    @property
    def num_remaining(self) -> int:
        """Evaluations left in the budget."""
        return self.max_evals - self.num_evals

    @property
    def num_made(self) -> int:
        """Evaluations so far, with those of the batch that is under way."""
        return self.num_evals + self._num_in_batch

    def stop(self) -> None:
        """Give up the batch that is under way, with the calls that run; any thread may ask."""
        self.is_stopped = True

    @property
    def num_failures(self) -> int:
        """Evaluations that failed so far."""
        return count_failures(self.failures)

    @property
    def is_late(self) -> bool:
        """Whether ``max_seconds`` have passed since this evaluator was made."""
        return self.max_seconds is not None and time.monotonic() - self._started > self.max_seconds

    @property
    def fails_too_often(self) -> bool:
        """Whether more than ``max_failure_rate`` of the last 200 evaluations failed; exploration does not count."""
        is_full = len(self._recent) == _RATE_WINDOW
        return is_full and sum(self._recent) > self.max_failure_rate * _RATE_WINDOW

    @property
    def recent_failures(self) -> float:
        """The share of the last 200 evaluations that failed, but for those far from the target; 0 if there are few."""
        return float(np.mean(self._recent)) if len(self._recent) >= _RATE_WINDOW // 4 else 0.0

    @property
    def archive(self) -> Archive:
        """Every successful evaluation so far; exists after the first batch."""
        if len(self._archived) > 1:
            self._archived = [Archive.join(self._archived)]
        return self._archived[0]

    @property
    def account(self) -> Account:
        """What was done so far, for :meth:`restore`."""
        return Account(self.num_evals, self._num_archived, dict(self.failures), tuple(self._recent), self._probe)

    def restore(
        self, account: Account, archive: Archive, unfinished: Unfinished | None = None, *, is_noisy: bool = False
    ) -> None:
        """Continue from there if the function is still the same, which a noisy one cannot show."""
        probe = account.probe or _find_probe(unfinished)
        if probe is not None and not is_noisy:
            self._require_same_function(probe)
        self.values.leave(unfinished)
        self.num_evals, self.failures, self._probe = account.num_evals, account.failures, account.probe
        self._archived, self._num_archived = [archive], len(archive)
        self._shapes = {name: column.shape[1:] for name, column in archive.derived.items()}
        self._recent.extend(account.recent)
        if self.fails_too_often:  # what stopped the run then may have been repaired
            self._recent.clear()

    def _require_same_function(self, probe: Probe) -> None:
        try:
            now, fault = self._repeat(probe)
        except TimeSpentError:  # the run ends with what it had
            return
        if fault is not None:
            raise _target_error(
                f"the first evaluation after the checkpoint failed {_failure(probe.point, fault)}", fault
            )
        if not np.isclose(now, probe.log_prob, rtol=_PROBE_RTOL, atol=_PROBE_ATOL):
            raise ValueError(
                f"log_prob at x = {probe.point.tolist()} was {probe.log_prob} and is {now} now: it is a different "
                "function, or a noisy one (then give it a parameter `rng`, or set noise=)"
            )

    def find_change(self) -> str:
        """What is not as it was, in words: the first and the best point are evaluated once more, and not counted.

        A function that takes a generator gets that of the first point again, and then another one there: if that makes
        a difference, its values are noisy, which nobody has declared. Nothing is evaluated if the time is up, if a call
        hung or killed its process, or if the median call took more than a second; and nothing more once an evaluation
        fails, so that there is one time-out to wait for at most.
        """
        if self._probe is None or not self._may_repeat:
            return ""
        for probe, question in ((self._probe, _IT_CHANGED), self._second_probe(self._probe)):
            now, fault = self._repeat(probe)
            if fault is not None:
                return ""
            if not abs(now - probe.log_prob) <= _MAX_CHANGE:
                return f"log_prob at x = {probe.point.tolist()} was {probe.log_prob:.6g}, and {now:.6g} {question}"
        return ""

    def _second_probe(self, first: Probe) -> tuple[Probe, str]:
        """The best point or, for a function that takes a generator, the first one with a number that is no other's."""
        if self._takes_rng:
            return replace(first, number=self.max_evals), _IT_IS_RANDOM
        best = int(np.argmax(self.archive.log_prob))
        return Probe(self.archive.points[best], first.number, float(self.archive.log_prob[best])), _IT_CHANGED

    def _repeat(self, probe: Probe) -> tuple[float, Fault | None]:
        """The value at the point now; it is not counted."""
        batch = Batch(Block(probe.point[None], np.array([probe.number])))
        for block, values in self.dispatch(batch.block, partial(self._look, batch)):
            batch.fill(block, values)
        return float(batch.log_prob[0]), batch.faults[0]

    @property
    def _may_repeat(self) -> bool:
        """Whether one more call is cheap, and likely to return."""
        has_lost = not {FaultKind.TIMEOUT.value, FaultKind.DEAD_WORKER.value}.isdisjoint(self.failures)
        if has_lost or self.is_late or not self._call_seconds:
            return False
        return float(np.median(self._call_seconds)) <= _MAX_SECONDS_TO_REPEAT

    def __call__(self, points: Array) -> Evaluation:
        """Evaluate every row of ``points``, which are free where the user's parameters are bounded."""
        if len(points) > self.num_remaining:
            raise ValueError(f"expected at most the {self.num_remaining} evaluations left, got {len(points)} points")
        numbers = np.arange(self.num_evals, self.num_evals + len(points))
        batch = self._batch = Batch(Block(self.transform.forward(points), numbers))
        try:
            self._fill(batch)
        finally:
            self.record(batch)
        return self.evaluation(points, batch)

    def _fill(self, batch: Batch) -> None:
        """Evaluate what is not known of a batch."""
        known, rest = self.values.recall(batch.block)
        for block, values in known:
            batch.fill(block, values)
            self.values.add(block, values)
        if len(rest.points) == 0:
            return
        with closing(self.dispatch(rest, partial(self._look, batch))) as blocks:
            for block, values in blocks:
                batch.fill(block, values)
                self._num_in_batch = int(batch.done.sum())
                self.note(block, values)
                if self.num_evals == 0:
                    self.stop_if_all_fail(batch.block.points, batch.faults[:MAX_INITIAL_FAILURES])

    def evaluation(self, points: Array, batch: Batch) -> Evaluation:
        """The values as samplers see them, at free points."""
        score = self.transform.pull_back_score(points, batch.score) if self._has_score else None
        return Evaluation(batch.log_prob + self.transform.log_det(points), batch.failed, score)

    def salvage(self, points: Array) -> Evaluation | None:
        """The values of the last batch, which was cut short, if enough had come back; the rest is as if it failed.

        Not of calls in this process, which do not hang: there the time was too short.
        """
        batch = self._batch
        num_done = 0 if batch is None or len(batch.done) != len(points) else int(batch.done.sum())
        if batch is None or num_done < MIN_TO_BEGIN or not self._has_workers:
            return None
        evaluation = self.evaluation(points, batch)
        return replace(evaluation, failed=batch.failed | ~batch.done)

    def note(self, block: Block, values: Values) -> None:
        """Keep what came back, and how long it took.

        A vectorized call takes its block's time, and may take it for one point too.
        """
        known = values.seconds[np.isfinite(values.seconds)]  # not of a call that gave no answer
        self._call_seconds.extend([float(known.sum())] if self._vectorized and known.size else known.tolist())
        self.values.add(block, values)
        self.on_values()

    def stop_if_all_fail(self, points: Array, faults: Sequence[Fault | None]) -> None:
        """Raise an error that shows the user's own if all of these, the first evaluations, failed."""
        fault = faults[0]
        if fault is not None and all(faults):
            hint = hint_for_shape(fault, is_vectorized=self._vectorized)
            where = f"{_failure(points[0], fault)}{hint}"
            raise _target_error(f"the first {len(faults)} evaluations all failed, the first of them {where}", fault)

    def _look(self, batch: Batch) -> None:
        """Give up a batch that is not complete when the time is up, or when somebody asked to stop."""
        if batch.done.all():
            return
        if self.is_stopped:
            raise StoppedError
        if self.is_late:
            num_done = self.num_evals + int(batch.done.sum())
            raise TimeSpentError(
                f"max_seconds={self.max_seconds:g} had passed after {num_done:,} evaluations, before the batch was "
                "complete"
            )

    def record(self, batch: Batch) -> None:
        """Count and keep what is done, in the order of the points, not of their completion."""
        self.values.tell(batch.block.numbers[batch.done])
        is_start = self.num_evals < max(_RATE_WINDOW, _START_FRACTION * self.max_evals)
        self.num_evals, self._num_in_batch = self.num_evals + int(batch.done.sum()), 0
        self._recent.extend([] if is_start or self.is_exploring else batch.failed[batch.done].tolist())
        for row, fault in enumerate(batch.faults):
            if fault is not None:
                self.failures = add_fault(self.failures, batch.block.points[row], fault)
        worked = batch.done & ~batch.failed
        self._num_archived += int(worked.sum())
        if self._probe is None and np.isfinite(batch.log_prob[worked]).any():
            row = int(np.flatnonzero(worked & np.isfinite(batch.log_prob))[0])
            self._probe = Probe(batch.block.points[row], int(batch.block.numbers[row]), float(batch.log_prob[row]))
        derived = self._stack_derived([row for row, is_kept in zip(batch.derived, worked, strict=True) if is_kept])
        self._archived.append(
            Archive(batch.block.points[worked], batch.log_prob[worked], batch.seconds[worked], derived)
        )

    def _stack_derived(self, rows: list[Quantities]) -> dict[str, Array]:
        """Derived quantities as columns; the first evaluation that has one decides its shape."""
        columns = stack(rows, self._shapes)
        self._shapes = {name: column.shape[1:] for name, column in columns.items()}
        for row in rows:
            self.odd_quantities |= {name for name, value in row.items() if np.shape(value) != self._shapes[name]}
        return columns


def _find_probe(unfinished: Unfinished | None) -> Probe | None:
    """One of the first values of a run that was stopped before its first batch was complete."""
    inside = np.empty(0) if unfinished is None else np.flatnonzero(np.isfinite(unfinished.log_prob))
    if unfinished is None or len(inside) == 0:
        return None
    row = int(inside[0])
    return Probe(unfinished.points[row], int(unfinished.numbers[row]), float(unfinished.log_prob[row]))


def _failure(point: Array, fault: Fault | None) -> Failure:
    return Failure(1, tuple(point.tolist()), "" if fault is None else fault.message)


def _target_error(message: str, fault: Fault | None) -> TargetError:
    error = TargetError(message)
    if fault is not None and fault.traceback:
        error.add_note(f"The traceback of log_prob:\n{fault.traceback}")
    return error
