"""The one loop: ask, evaluate, tell, until a rule says why to stop. It knows no algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.evaluation import MAX_LOG_PROB, Evaluation, Evaluator, StoppedError, TimeSpentError, WorkersLostError
from steinbox.run.arrivals import Arrivals, OpenBatch
from steinbox.run.record import Record
from steinbox.run.signals import Terminated
from steinbox.run.status import Status
from steinbox.samplers.base import Info, Problem, Sample, Sampler, StalledError, State


@dataclass(frozen=True, eq=False)
class Iteration:
    """What a callback sees after each iteration; its particles are made when they are looked at.

    ``info`` is what the sampler says of the iteration, and ``mean_log_prob``, the mean log-density of its particles,
    and ``num_evals``.

    Examples
    --------
    >>> import steinbox as sb
    >>> seen = []
    >>> result = sb.sample(lambda x: -0.5 * float(x @ x), sb.Gaussian([0.0], std=2), num_particles=20, max_evals=400,
    ...                    callback=lambda iteration: seen.append(iteration.num_evals), seed=0)
    >>> seen[-1] == result.num_evals
    True
    """

    index: int
    info: Info
    num_evals: int
    max_evals: int
    progress: float
    take_sample: Callable[[], Sample] = field(repr=False)

    @cached_property
    def sample(self) -> Sample:
        """Particles, weights and log-densities so far, in the user's units."""
        return self.take_sample()

    @property
    def particles(self) -> Array:
        """A copy of the particles."""
        return self.sample.particles.copy()

    @property
    def log_prob(self) -> Array:
        """A copy of their log-densities."""
        return self.sample.log_prob.copy()


Callback: TypeAlias = Callable[[Iteration], object]


class CallbackError(RuntimeError):
    """The user's callback raised."""


_STATUS_OF: dict[type[BaseException], Status] = {
    Terminated: Status.TERMINATED,  # before KeyboardInterrupt, of which it is one
    KeyboardInterrupt: Status.INTERRUPTED,
    StoppedError: Status.INTERRUPTED,
    TimeSpentError: Status.TIME_SPENT,
    StalledError: Status.STALLED,
    np.linalg.LinAlgError: Status.STALLED,
    CallbackError: Status.CALLBACK_FAILED,
    WorkersLostError: Status.WORKERS_LOST,
}


_MAX_WITHOUT_SUPPORT = 0.1  # of the budget: draws of a start of which none may be inside the support
REASONS_TO_STOP = tuple(_STATUS_OF)
ENDS_IN_ORDER = (StoppedError, TimeSpentError, WorkersLostError)  # what has come back until then may be used


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a run ended: the sample, what was seen on the way, and why it stopped."""

    sample: Sample
    trace: tuple[Info, ...]
    status: Status
    reason: str = ""
    record: Record | None = None
    arrivals: Arrivals | None = None


@dataclass(frozen=True, eq=False)
class RunState(Generic[State]):
    """How far a run has come: the sampler's state and what was seen on the way.

    An asynchronous one has a log of arrivals, and batches of which points are not told yet.
    """

    state: State
    trace: Sequence[Info] = ()
    record: Record | None = None
    arrivals: Arrivals | None = None
    opened: tuple[OpenBatch, ...] = ()


Keep: TypeAlias = Callable[[RunState[Any]], object]
Show: TypeAlias = Callable[[Sample], Sample]


def run(
    sampler: Sampler[State],
    evaluator: Evaluator,
    run_state: RunState[State],
    rng: np.random.Generator,
    dimension: int,
    callbacks: tuple[Callback, ...] = (),
    keep: Keep | None = None,
    show: Show = lambda sample: sample,
) -> Outcome:
    """Go on with a run in so many free parameters until the sampler is done, the budget is spent or somebody stops it.

    Whatever stops it after the first batch, the state of the last complete iteration is a valid answer and is returned;
    each of them is given to ``keep``. What people see went through ``show``, which knows the user's units. Nothing can
    be returned before that: a first batch in which all evaluations fail or lie outside the support raises, and so does
    a callback that fails at its first call.
    """
    course = Course(sampler, evaluator, run_state, callbacks, keep, show)
    status, reason = course.reason_to_stop() if run_state.trace else None, ""
    if status is None:
        status, reason = run_batches(course, sampler, evaluator, rng, dimension)
    return course.end(Status.FINISHED if status is None else status, reason)


def run_batches(
    course: Course[State],
    sampler: Sampler[State],
    evaluator: Evaluator,
    rng: np.random.Generator,
    dimension: int,
    is_over: Callable[[State], bool] = lambda state: False,
) -> tuple[Status | None, str]:
    """Batch by batch, until ``is_over`` says of the state that it is (None), or the run ends: why, and details."""
    status, reason = None, ""
    while status is None and not is_over(course.state):
        try:
            points = _ask(sampler, course.state, dimension, rng)
            status = _reason_not_to_evaluate(len(points), evaluator)
            if status is not None:
                break
            evaluator.is_exploring = sampler.explores(course.state)
            evaluation, cut_short = _evaluate(points, evaluator, is_first=not course.has_begun)
            status = course.check(evaluation, patience=_MAX_WITHOUT_SUPPORT)
            if status is not None:
                break
            state, info = sampler.tell(course.state, points, evaluation, rng)
            if course.has_begun or np.isfinite(evaluation.log_prob).any():
                status = course.advance(state, info)
            else:  # nothing to show yet
                course.state = state
            if cut_short is not None:
                raise cut_short
        except REASONS_TO_STOP as stop:
            status, reason = course.status_of(stop), str(stop)
    return status, reason


def _evaluate(points: Array, evaluator: Evaluator, *, is_first: bool) -> tuple[Evaluation, Exception | None]:
    """The values; of a first batch that was cut short what has come back, and why: else there would be no result."""
    try:
        return evaluator(points), None
    except ENDS_IN_ORDER as stop:
        salvaged = evaluator.salvage(points) if is_first else None
        if salvaged is None or not np.isfinite(salvaged.log_prob).any():
            raise
        return salvaged, stop


class Course(Generic[State]):
    """How far a run has come, and who hears of it: what is the same however points are evaluated."""

    def __init__(
        self,
        sampler: Sampler[State],
        evaluator: Evaluator,
        run_state: RunState[State],
        callbacks: tuple[Callback, ...] = (),
        keep: Keep | None = None,
        show: Show = lambda sample: sample,
    ) -> None:
        self._sampler, self._evaluator = sampler, evaluator
        self._callbacks, self._keep, self._show = callbacks, keep, show
        self.state, self._trace, self._record = run_state.state, list(run_state.trace), run_state.record

    @property
    def has_begun(self) -> bool:
        """Whether an iteration is complete, so that there is something to return."""
        return len(self._trace) > 0

    def check(self, evaluation: Evaluation, patience: float = 0.0) -> Status | None:
        """Why not to go on from these values; raises if there is nothing to start from.

        Samplers that tolerate empty batches may use the share ``patience`` of the budget to find the support.
        """
        evaluator, tolerates = self._evaluator, self._sampler.tolerates_empty_batch
        is_early = not self.has_begun and evaluator.num_evals < patience * evaluator.max_evals
        if np.isfinite(evaluation.log_prob).any() or (tolerates and (self.has_begun or is_early)):
            return None
        if not self.has_begun:
            raise ValueError(_nothing_to_start_from(evaluator))
        return Status.TARGET_FAILED if evaluation.failed.all() else Status.SUPPORT_LOST

    def advance(self, state: State, info: Info, **kept: Any) -> Status | None:
        """An iteration is complete: take note, keep it, and show it; the reason to stop, if there is one."""
        sampler, evaluator, num_evals = self._sampler, self._evaluator, self._evaluator.num_evals
        info = {**info, "mean_log_prob": sampler.mean_log_prob(state), "num_evals": num_evals}
        self.state = state
        self._trace.append(info)
        evaluator.values.settle()
        of_plan = sampler.progress(state)
        progress = num_evals / evaluator.max_evals if of_plan is None else of_plan
        take_sample = partial(_take_sample, sampler, state, self._show)
        if self._record is not None and self._record.is_due(progress if len(self._trace) > 1 else 0.0):
            self._record = self._record.add(take_sample(), num_evals)
        if self._keep is not None:
            self._keep(RunState(state, self._trace, self._record, **kept))
        status = self.reason_to_stop()
        index = len(self._trace) - 1
        iteration = Iteration(index, info, num_evals, evaluator.max_evals, progress, take_sample)
        stop_asked = _call_back(self._callbacks, iteration)
        return status or (Status.STOPPED_BY_CALLBACK if stop_asked else None)

    def reason_to_stop(self) -> Status | None:
        """Why there is nothing more to do, or no time for it."""
        sampler, state, evaluator = self._sampler, self.state, self._evaluator
        if sampler.is_finished(state):
            has_plan = sampler.progress(state) is not None
            return Status.FINISHED if has_plan or evaluator.num_remaining > 0 else Status.BUDGET_SPENT
        if evaluator.fails_too_often:
            return Status.TOO_MANY_FAILURES
        if sampler.is_converged(state):
            return Status.CONVERGED
        if evaluator.is_stopped:
            return Status.INTERRUPTED
        return Status.TIME_SPENT if evaluator.is_late else None

    def status_of(self, stop: BaseException) -> Status:
        """That of a run that something stopped; raises it again if there is nothing to return yet."""
        if len(self._trace) < (2 if isinstance(stop, CallbackError) else 1):
            raise stop
        return next(status for kind, status in _STATUS_OF.items() if isinstance(stop, kind))

    def end(self, status: Status, reason: str = "", **kept: Any) -> Outcome:
        """The answer."""
        sample = _take_sample(self._sampler, self.state, self._show)
        trace, record = self._trace, self._record
        if record is not None and trace[-1]["num_evals"] not in record.num_evals:
            record = record.add(sample, int(trace[-1]["num_evals"]))
        return Outcome(sample, tuple(trace), status, reason, record, **kept)


def start_record(
    run_state: RunState[State], max_frames: int, problem: Problem, sampler: Sampler[State]
) -> RunState[State]:
    """The run with a record of so many moments, or that of its checkpoint."""
    shape = problem.num_particles, problem.dimension
    record = run_state.record or Record.empty(max_frames, *shape, is_flow=sampler.moves_particles)
    return replace(run_state, record=replace(record, max_frames=max_frames))


def trace_columns(trace: Sequence[Info]) -> dict[str, Array]:
    """One array per key of the trace; NaN where an iteration said nothing."""
    keys = dict.fromkeys(key for info in trace for key in info)
    return {key: np.array([info.get(key, np.nan) for info in trace]) for key in keys}


def _ask(sampler: Sampler[State], state: State, dimension: int, rng: np.random.Generator) -> Array:
    points = np.asarray(sampler.ask(state, rng), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != dimension:
        name = type(sampler).__name__
        raise ValueError(f"expected {name}.ask to return points of shape (m, {dimension}), got {points.shape}")
    return points


def _reason_not_to_evaluate(num_points: int, evaluator: Evaluator) -> Status | None:
    if num_points == 0:
        return Status.FINISHED
    return Status.BUDGET_SPENT if num_points > evaluator.num_remaining else None


def _nothing_to_start_from(evaluator: Evaluator) -> str:
    failed = next((f" ({evaluator.num_failures} failed, the first {f})" for f in evaluator.failures.values()), "")
    return (
        f"log_prob is -inf, or below {-MAX_LOG_PROB:g}, at all {evaluator.num_evals} initial points{failed}: there "
        "is nothing to start from. Choose an `initial` that overlaps the support of the target."
    )


def _take_sample(sampler: Sampler[State], state: State, show: Show) -> Sample:
    return show(sampler.sample(state))


def _call_back(callbacks: tuple[Callback, ...], iteration: Iteration) -> bool:
    """Show the iteration to every callback; True if one of them returned something true."""
    try:
        answers = [callback(iteration) for callback in callbacks]
        return any(bool(answer) for answer in answers if answer is not None)
    except Exception as error:
        raise CallbackError(f"the callback raised {type(error).__name__}: {error}") from error
