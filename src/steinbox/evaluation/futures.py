"""An executor or pool of the user's: it is given blocks, and never shut down."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from typing import Any, TypeAlias

from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.faults import Fault, FaultKind
from steinbox.evaluation.installed import NEEDS_FUNCTION, evaluate_installed, payload_of
from steinbox.evaluation.workers import Finished, WorkersLostError

Submit: TypeAlias = Callable[..., "Future[Any]"]

_GLANCE = 0.1  # seconds between two looks at the clock and at the workers' health
_START_SECONDS = 60.0


@dataclass(eq=False)
class _Running:
    """A block in the executor, and since when it runs as far as can be seen."""

    block: Block
    since: float | None = None


class Futures:
    """An executor of the user's.

    The clock of a time-out starts when a future says that it runs. A call beyond it cannot be stopped: it is left
    behind, and its worker with it until it comes back.
    """

    def __init__(
        self,
        calls: Calls,
        submit: Submit,
        num_workers: int,
        timeout: float | None,
        payload: bytes | None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._calls, self._submit, self._payload = calls, submit, payload
        self._timeout, self._check = timeout, check
        self._token = secrets.token_hex(8)
        self.num_workers = num_workers
        self.longest_block = float("inf") if timeout is None else 0.0  # one point at a time, so that one is to blame
        self._running: dict[Future[Any], _Running] = {}
        self._left_behind: set[Future[Any]] = set()
        self._patience = _START_SECONDS  # more than the time-out, until something has come back

    @property
    def num_free(self) -> int:
        """As many as the executor has workers; those that hang are lost until they come back."""
        self._left_behind = {future for future in self._left_behind if not future.done()}
        return self.num_workers - len(self._left_behind) - len(self._running)

    def submit(self, block: Block, payload: bytes | None = None) -> None:
        if self._payload is None:
            future = self._submit(self._calls, block)
        else:
            future = self._submit(evaluate_installed, self._token, payload, block)
        self._running[future] = _Running(block)

    def collect(self) -> list[Finished]:
        if not self._running:
            self._wait_for_one_left_behind()
            return []
        wait(self._running, _GLANCE, FIRST_COMPLETED)
        self._check()
        return [finished for future in list(self._running) for finished in self._finished(future)]

    def _finished(self, future: Future[Any]) -> Iterable[Finished]:
        running = self._running[future]
        if future.done():
            del self._running[future]
            outcome = self._outcome(future)
            if outcome == NEEDS_FUNCTION:
                self.submit(running.block, self._payload)
            else:
                self._patience = 0.0
                yield running.block, outcome
        elif self._is_late(future, running):
            del self._running[future]
            self._left_behind.add(future)
            future.cancel()
            yield running.block, Fault(FaultKind.TIMEOUT, f"no answer within timeout={self._timeout} seconds")

    def _is_late(self, future: Future[Any], running: _Running) -> bool:
        if running.since is None and future.running():
            running.since = time.monotonic()
        if self._timeout is None or running.since is None:
            return False
        return time.monotonic() > running.since + self._timeout + self._patience

    def _wait_for_one_left_behind(self) -> None:
        """All workers are in calls beyond the time-out; one that is merely slow may still come back."""
        wait(self._left_behind, 10 * (self._timeout or 0.0), FIRST_COMPLETED)
        if self.num_free == 0:
            raise WorkersLostError(
                f"all {self.num_workers} workers of the executor hang in calls beyond timeout={self._timeout}, and "
                "only processes of steinbox's own can be stopped: give executor=2, or any other number"
            )

    def _outcome(self, future: Future[Any]) -> Any:
        error = None if future.cancelled() else future.exception()
        if isinstance(error, BrokenExecutor):
            raise WorkersLostError(
                f"the executor broke: {error} Processes of steinbox's own are replaced when they die: give executor=2, "
                "or any other number"
            ) from error
        if future.cancelled() or error is not None:
            return Fault(FaultKind.DEAD_WORKER, f"the executor gave no answer ({error!r})")
        return future.result()

    def cancel(self) -> None:
        for future in self._running:
            future.cancel()
        self._running = {}

    def close(self) -> None:
        self.cancel()


class Mapped:
    """A pool that has ``map`` and nothing more: all blocks at once, and a wait for the last."""

    longest_block = float("inf")

    def __init__(self, calls: Calls, pool: Any, num_workers: int) -> None:
        self._pool, self._payload, self._token = pool, payload_of(calls), secrets.token_hex(8)
        self.num_workers = num_workers
        self._waiting: list[Block] = []
        self._works = False

    @property
    def num_free(self) -> int:
        """Any number once it is known to work: blocks wait until they are collected."""
        return 10**9 if self._works else self.num_workers - len(self._waiting)

    def submit(self, block: Block) -> None:
        self._waiting.append(block)

    def collect(self) -> list[Finished]:
        blocks, self._waiting = self._waiting, []
        outcomes = self._map(blocks, None)
        missing = [i for i, outcome in enumerate(outcomes) if outcome == NEEDS_FUNCTION]
        for i, outcome in zip(missing, self._map([blocks[i] for i in missing], self._payload), strict=True):
            outcomes[i] = outcome
        self._works = self._works or any(isinstance(outcome, Values) for outcome in outcomes)
        return list(zip(blocks, outcomes, strict=True))

    def _map(self, blocks: list[Block], payload: bytes | None) -> list[Any]:
        try:
            return list(self._pool.map(_evaluate_task, [(self._token, payload, block) for block in blocks]))
        except Exception as error:
            raise WorkersLostError(f"the pool's map raised {type(error).__name__}: {error}") from error

    def cancel(self) -> None:
        self._waiting = []

    def close(self) -> None:
        """The pool is the user's."""


def _evaluate_task(task: tuple[str, bytes | None, Block]) -> Values | Fault | str:
    return evaluate_installed(*task)


def from_executor(executor: Any, calls: Calls, timeout: float | None) -> Futures:
    """A ``concurrent.futures`` executor, or one that looks like it. Threads need no copy of the function."""
    in_threads = isinstance(executor, ThreadPoolExecutor)
    return Futures(calls, executor.submit, size_of(executor), timeout, None if in_threads else payload_of(calls))


def from_pool(pool: Any, calls: Calls, timeout: float | None) -> Futures:
    """A ``multiprocessing`` or Ray pool, or one of threads."""

    def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        pool.apply_async(function, arguments, callback=future.set_result, error_callback=future.set_exception)
        return future

    payload = None if isinstance(pool, ThreadPool) else payload_of(calls)
    return Futures(calls, submit, size_of(pool), timeout, payload, check=_watch(pool))


def _watch(pool: Any) -> Callable[[], None]:
    """A ``multiprocessing`` pool replaces a process that died, but its call never comes back: see that it happened."""

    def processes() -> set[Any]:
        return {getattr(process, "pid", None) for process in getattr(pool, "_pool", ())}

    first = processes()
    renewed_anyway = getattr(pool, "_maxtasksperchild", None) is not None

    def check() -> None:
        if not renewed_anyway and not processes() >= first:
            raise WorkersLostError("a process of the pool died, and its call with it; executor=2 would replace it")

    return check


def from_dask(client: Any, calls: Calls, timeout: float | None) -> Futures:
    """A Dask cluster; the function is scattered to a worker that asks for it."""
    held: set[Any] = set()  # Dask forgets a task that nobody holds

    def submit(function: Callable[..., Any], token: str, payload: bytes | None, block: Block) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def finish(remote: Any) -> None:
            held.discard(remote)
            try:
                future.set_result(remote.result())
            except BaseException as error:  # also that it was cancelled, or lost with its worker
                future.set_exception(error)

        sent = None if payload is None else client.scatter(payload, hash=False)
        remote = client.submit(function, token, sent, block, pure=False)
        held.add(remote)
        remote.add_done_callback(finish)
        return future

    return Futures(calls, submit, sum(client.nthreads().values()), timeout, payload_of(calls))


def size_of(executor: Any) -> int:
    """How many workers an executor or pool says it has."""
    for name in ("_max_workers", "num_workers", "_processes", "size"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    return os.cpu_count() or 1
