"""The loop without batches: workers wait neither for one another nor for a fit.

.. code-block:: text

   a worker is free ─► a point goes out: what the sampler asked for, or another draw of its proposals as they stand
   points come back ─► enough of them ─► the sampler learns, beside the loop ─► new proposals

A straggler holds nobody up, and is told when it comes. When the budget is spent, or the sampler has converged, all that
is out is waited for: which points are in the answer must not depend on how long they took.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any, Generic, Protocol

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.evaluation import MIN_TO_BEGIN, Evaluator, Stream
from steinbox.run.arrivals import Arrivals
from steinbox.run.book import Book
from steinbox.run.loop import ENDS_IN_ORDER, REASONS_TO_STOP, Callback, Course, Keep, Outcome, RunState, Show
from steinbox.run.status import Status
from steinbox.samplers.asynchronous import Asynchronous, Batch
from steinbox.samplers.base import Sampler, State

_AHEAD = 2  # batches, or points for each worker, by which these may be ahead of the sampler
_MAX_AHEAD = 0.1  # of the budget, if that is more
_NONE: IntegerArray = np.empty(0, dtype=np.int64)


def run_asynchronously(
    sampler: Sampler[State],
    evaluator: Evaluator,
    run_state: RunState[State],
    rng: np.random.Generator,
    seed: int,
    callbacks: tuple[Callback, ...] = (),
    keep: Keep | None = None,
    show: Show = lambda sample: sample,
    log: Arrivals | None = None,
) -> Outcome:
    """Go on with a run as :func:`steinbox.run.loop.run` does, but without batches; or repeat the one of a log."""
    course = Course(sampler, evaluator, run_state, callbacks, keep, show)
    with ExitStack() as stack:
        stream = stack.enter_context(closing(Stream(evaluator)))
        loop = _Loop(sampler, course, stream, run_state, rng, seed, evaluator.max_evals)
        status, reason = course.reason_to_stop() if run_state.trace else None, ""
        try:
            if status is None and log is not None:
                status = loop.repeat(log)
            elif status is None:
                status = loop.run(stack.enter_context(make_background()))
        except REASONS_TO_STOP as stop:
            is_in_order = isinstance(stop, ENDS_IN_ORDER)
            if is_in_order and log is None and not course.has_begun:
                loop.begin_late()
            status, reason = course.status_of(stop), str(stop)
        else:
            is_in_order = status is Status.STOPPED_BY_CALLBACK
        if is_in_order and log is None:
            with suppress(*REASONS_TO_STOP):
                loop.learn_the_rest()
    return course.end(status, reason, arrivals=loop.arrivals)


class Fit(Protocol):
    """The part of a future that is needed here."""

    def done(self) -> bool:
        """Whether it is there."""
        ...

    def result(self) -> Any:
        """Wait for it."""
        ...


def make_background() -> ThreadPoolExecutor:
    """Where the sampler learns while points go out and come back."""
    return ThreadPoolExecutor(1, thread_name_prefix="steinbox-fit")


class _Loop(Generic[State]):
    def __init__(
        self,
        sampler: Sampler[State],
        course: Course[State],
        stream: Stream,
        run_state: RunState[State],
        rng: np.random.Generator,
        seed: int,
        max_evals: int,
    ) -> None:
        if not isinstance(sampler, Asynchronous):
            raise TypeError(f"expected a sampler that can draw before it has learned, got {type(sampler).__name__}")
        self._sampler: Asynchronous[State] = sampler
        self._course, self._stream, self._rng, self._max_evals = course, stream, rng, max_evals
        self.arrivals = Arrivals.empty() if run_state.arrivals is None else run_state.arrivals
        num_drawn = int(self.arrivals.num_after[-1]) if len(self.arrivals) else 0
        version, opened = len(self.arrivals), run_state.opened
        self._book = Book(self._sampler, run_state.state, seed, max_evals, version, num_drawn, opened)
        self._told, self._num_before = _NONE, 0
        self._fit: Fit | None = None

    def run(self, background: Any) -> Status:
        """Go on to the end."""
        status: Status | None = None  # why to end, once all that is out is back
        while True:
            due = self._find_due(status) if self._fit is None else _NONE
            if len(due) > 0:
                self._fit = background.submit(*self._begin(due))
            if self._fit is not None and (self._fit.done() or self._is_idle(status)):
                reason = self._install_fit()
                if reason is not None and not (reason is Status.CONVERGED and self._book.num_open > 0):
                    return status or reason
                status = status or reason
            if status is None:
                self._give_out()
            if not self._is_idle(status):
                self._book.come(self._stream.collect())
            elif self._fit is None and self._book.num_come == 0:
                return status or Status.FINISHED

    def begin_late(self) -> None:
        """Learn a first time, if enough has come back, from a run that was stopped before it learned anything."""
        if self._fit is not None or len(self._book.find_all()) >= MIN_TO_BEGIN:
            with suppress(ValueError, *REASONS_TO_STOP):  # all may be outside the support
                self.learn_the_rest()

    def learn_the_rest(self) -> None:
        """Learn a last time, from what has come back: a run that is stopped has paid for it."""
        self._install_fit()
        due = self._book.find_all()
        if len(due) > 0:
            tell, *arguments = self._begin(due)
            self._install(*tell(*arguments))

    def repeat(self, log: Arrivals) -> Status:
        """Do again what the log says; points are evaluated when they are told."""
        status = None
        for k in range(len(self.arrivals), len(log)):
            self._book.skip_to(int(log.num_before[k]))
            tell, *arguments = self._begin(log.told(k), evaluate=self._evaluate)
            self._book.skip_to(int(log.num_after[k]))
            reason = self._install(*tell(*arguments))
            status = status or reason
        return status or Status.INTERRUPTED

    def _is_idle(self, ending: Status | None) -> bool:
        """Whether nothing is out, and nothing goes out before something is learned, or the run is to end."""
        return self._stream.num_out == 0 and (self._book.is_exhausted or self._num_room <= 0 or ending is not None)

    @property
    def _num_room(self) -> int:
        """Points that may go out now.

        Workers that are faster than the sampler wait for it: else all would be spent on the first proposals.
        """
        num_wanted = self._sampler.num_to_tell(self._course.state)
        most = max(_AHEAD * num_wanted, _AHEAD * self._stream.num_workers, int(_MAX_AHEAD * self._max_evals))
        return max(most - self._book.num_ahead, self._book.num_asked)

    def _find_due(self, ending: Status | None) -> IntegerArray:
        """What to learn from now; if nothing more goes out, everything, when it is back."""
        if self._book.is_exhausted or ending is not None:
            return self._book.find_all() if self._stream.num_out == 0 else _NONE
        if self._num_room > 0:
            return self._book.find_ready(self._sampler.num_to_tell(self._course.state))
        ready = self._book.find_ready(1)
        return self._book.find_all() if len(ready) == 0 and self._stream.num_out == 0 else ready

    def _give_out(self) -> None:
        """A block of points to every worker that is free."""
        num_batch = self._sampler.num_to_tell(self._course.state)
        while not self._book.is_exhausted and (room := self._num_room) > 0:
            size = min(self._stream.num_wanted(num_batch, room), room)
            if size == 0:
                return
            points, numbers = self._book.give_out(size)
            if len(numbers) > 0:
                self._stream.give_out(points, numbers)

    def _begin(
        self, numbers: IntegerArray, evaluate: Callable[[Array, IntegerArray], None] | None = None
    ) -> tuple[Any, ...]:
        """What to call to learn from these points: a function and its arguments."""
        parts = self._book.tell(numbers)
        points = np.concatenate([batch.points for batch, _ in parts])
        self._told = np.concatenate([told for _, told in parts])
        if evaluate is not None:
            evaluate(points, self._told)
        evaluation = self._stream.take(points, self._told)
        self._course.check(evaluation)
        values = evaluation.split([len(told) for _, told in parts])
        told: list[tuple[Batch, Any]] = [(batch, each) for (batch, _), each in zip(parts, values, strict=True)]
        self._num_before = self._book.num_drawn
        return self._sampler.tell_parts, self._course.state, told, self._book.num_open, self._rng

    def _install_fit(self) -> Status | None:
        """Wait for what is learned beside the loop, if anything is."""
        fit, self._fit = self._fit, None
        return None if fit is None else self._install(*fit.result())

    def _install(self, state: State, info: Any) -> Status | None:
        """What was learned is there."""
        self.arrivals = self.arrivals.add(self._told, self._num_before, self._book.num_drawn)
        self._book.install(state)
        return self._course.advance(state, info, arrivals=self.arrivals, opened=self._book.opened)

    def _evaluate(self, points: Array, numbers: IntegerArray) -> None:
        """Evaluate these points now, on all workers."""
        next_row, num_points = 0, len(points)
        while next_row < num_points or self._stream.num_out > 0:
            while next_row < num_points and (size := self._stream.num_wanted(num_points, num_points - next_row)) > 0:
                rows = slice(next_row, next_row + size)
                self._stream.give_out(points[rows], numbers[rows])
                next_row += size
            self._stream.collect()
