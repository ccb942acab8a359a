"""Workers behind futures: an executor or pool of the user's, which is given blocks and never shut down."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from steinbox.evaluation.calls import Block, Calls
from steinbox.evaluation.dask import DaskCount
from steinbox.evaluation.faults import Fault, FaultKind
from steinbox.evaluation.remote import NEEDS_FUNCTION, evaluate_remotely
from steinbox.evaluation.workers import POLL_SECONDS, START_SECONDS, Finished, WorkersLostError

Submit: TypeAlias = Callable[..., "Future[Any]"]

_COUNT_SECONDS = 1.0  # between two counts of the workers, if their number may change
_MAX_TIMEOUTS_TO_WAIT = 10  # time-outs after which workers that all hang are given up


@dataclass(eq=False)
class _Running:
    """A block in the executor, and since when it is known to run."""

    block: Block
    since: float | None = None


class Futures:
    """Workers of an executor.

    The clock of a time-out starts when a future says that it runs; those of Dask do not say, and the oldest do, as many
    as there are threads. A call beyond it cannot be stopped: it is abandoned, and its worker with it until it returns.
    """

    def __init__(
        self,
        calls: Calls,
        submit: Submit,
        num_workers: int,
        timeout: float | None,
        payload: bytes | None,
        check: Callable[[], None] = lambda: None,
        count: DaskCount | None = None,
    ) -> None:
        self._calls, self._submit, self._payload = calls, submit, payload
        self._timeout, self._check, self._count = timeout, check, count
        self._counted = time.monotonic()
        self._token = secrets.token_hex(8)
        self.num_workers = num_workers
        # with a time-out one point at a time, so that the time-out is its own
        self.max_block_seconds = float("inf") if timeout is None else 0.0
        self._running: dict[Future[Any], _Running] = {}
        self._abandoned: set[Future[Any]] = set()
        self._grace_seconds = START_SECONDS  # beyond the time-out, until a first answer
        self._stuck_since: float | None = None  # when all workers began to hang
        self._loss: WorkersLostError | None = None

    @property
    def num_free(self) -> int:
        """As many as the executor has workers; those that hang do not count until they return."""
        self._abandoned = {future for future in self._abandoned if not future.done()}
        return self.num_workers - len(self._abandoned) - len(self._running)

    def submit(self, block: Block, payload: bytes | None = None) -> None:
        task = (self._calls, block) if self._payload is None else (evaluate_remotely, self._token, payload, block)
        try:
            future = self._submit(*task)
        except Exception as error:  # it broke, or somebody shut it down
            raise _lost(error) from error
        self._running[future] = _Running(block)

    def collect(self) -> list[Finished]:
        if not self._running:
            if self._loss is not None:  # noted when the last values came back
                raise self._loss
            self._wait_for_abandoned()
            return []
        wait(self._running, POLL_SECONDS, FIRST_COMPLETED)
        finished: list[Finished] = []
        for place, future in enumerate(list(self._running)):
            with self._noting_loss():
                finished += self._finish(future, may_run=self._count is None or place < self._count.num_threads)
        with self._noting_loss():
            self._check()
            self._count_workers()
        if self._loss is not None and not finished:
            raise self._loss
        return finished

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        """Keep what says that the workers are lost, until all that came back before is handed over."""
        try:
            yield
        except WorkersLostError as error:
            self._loss = error

    def _count_workers(self) -> None:
        """Now and then, if there may be more or fewer than there were."""
        if self._count is not None and time.monotonic() > self._counted + _COUNT_SECONDS:
            self.num_workers, self._counted = self._count(), time.monotonic()

    def _finish(self, future: Future[Any], *, may_run: bool) -> Iterable[Finished]:
        running = self._running[future]
        if future.done():
            del self._running[future]
            outcome = self._outcome(future)
            if outcome == NEEDS_FUNCTION:
                self.submit(running.block, self._payload)
            else:
                self._grace_seconds = 0.0
                yield running.block, outcome
        elif may_run and self._is_late(future, running):
            del self._running[future]
            self._abandoned.add(future)
            future.cancel()
            yield running.block, Fault(FaultKind.TIMEOUT, f"no answer within timeout={self._timeout} seconds")

    def _is_late(self, future: Future[Any], running: _Running) -> bool:
        if running.since is None and future.running():
            running.since = time.monotonic()
        if self._timeout is None or running.since is None:
            return False
        return time.monotonic() > running.since + self._timeout + self._grace_seconds

    def _wait_for_abandoned(self) -> None:
        """All workers are in calls beyond the time-out; one that is merely slow may still return."""
        wait(self._abandoned, POLL_SECONDS, FIRST_COMPLETED)
        if self.num_free > 0:
            self._stuck_since = None
            return
        now = time.monotonic()
        self._stuck_since = now if self._stuck_since is None else self._stuck_since
        if now > self._stuck_since + _MAX_TIMEOUTS_TO_WAIT * (self._timeout or 0.0):
            raise WorkersLostError(
                f"all {self.num_workers} workers of the executor hang in calls beyond timeout={self._timeout}, and "
                "only processes started by steinbox can be stopped: give executor=2, or any other number"
            )

    def _outcome(self, future: Future[Any]) -> Any:
        error = None if future.cancelled() else future.exception()
        if isinstance(error, BrokenExecutor):
            raise _lost(error) from error
        if future.cancelled() or error is not None:
            return Fault(FaultKind.DEAD_WORKER, f"the executor gave no answer ({error!r})")
        return future.result()

    def cancel(self) -> None:
        for future in self._running:
            future.cancel()
        self._running = {}

    def close(self) -> None:
        self.cancel()


def _lost(error: BaseException) -> WorkersLostError:
    return WorkersLostError(
        f"the executor takes no more calls ({type(error).__name__}: {error}). Processes started by steinbox are "
        "replaced when they die: give executor=2, or any other number"
    )
