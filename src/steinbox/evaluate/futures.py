"""An executor or pool of the user's: it is given blocks, and never shut down."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

from steinbox.evaluate.calls import Block, Calls, Values
from steinbox.evaluate.faults import Fault, FaultKind
from steinbox.evaluate.installed import NEEDS_FUNCTION, evaluate_installed, payload_of
from steinbox.evaluate.workers import Finished, WorkersLostError

Submit: TypeAlias = Callable[..., "Future[Any]"]


class Futures:
    """An executor of the user's: it is given blocks, never shut down."""

    def __init__(self, calls: Calls, submit: Submit, num_workers: int, timeout: float | None, payload: object) -> None:
        self._calls, self._submit, self._payload, self._timeout = calls, submit, payload, timeout
        self._token = secrets.token_hex(8)
        self.num_workers = num_workers
        self._running: dict[Future[Any], tuple[Block, float]] = {}
        self._num_left_behind = 0

    @property
    def num_free(self) -> int:
        """As many as the executor has workers; those that hang are lost."""
        return self.num_workers - self._num_left_behind - len(self._running)

    def submit(self, block: Block, payload: object = None) -> None:
        if self._payload is None:
            future = self._submit(self._calls, block)
        else:
            future = self._submit(evaluate_installed, self._token, payload, block)
        self._running[future] = (block, time.monotonic() + (float("inf") if self._timeout is None else self._timeout))

    def collect(self) -> list[Finished]:
        if not self._running:
            raise WorkersLostError(
                f"all {self.num_workers} workers of the executor hang in calls beyond timeout={self._timeout}, and "
                "only processes of steinbox's own can be stopped: give executor=2, or any other number"
            )
        patience = min(deadline for _, deadline in self._running.values()) - time.monotonic()
        wait(self._running, None if patience == float("inf") else max(0.0, patience), FIRST_COMPLETED)
        return [finished for future in list(self._running) for finished in self._finished(future)]

    def _finished(self, future: Future[Any]) -> Iterable[Finished]:
        block, deadline = self._running[future]
        if future.done():
            del self._running[future]
            outcome = self._outcome(future)
            if outcome == NEEDS_FUNCTION:
                self.submit(block, self._payload)
            else:
                yield block, outcome
        elif time.monotonic() > deadline:
            del self._running[future]
            if not future.cancel():
                self._num_left_behind += 1
                future.add_done_callback(self._came_back)
            yield block, Fault(FaultKind.TIMEOUT, f"no answer within timeout={self._timeout} seconds")

    def _came_back(self, future: Future[Any]) -> None:
        self._num_left_behind -= 1

    def _outcome(self, future: Future[Any]) -> Any:
        error = future.exception()
        if isinstance(error, BrokenExecutor):
            raise WorkersLostError(
                f"the executor broke: {error} Processes of steinbox's own are replaced when they die: give executor=2, "
                "or any other number"
            ) from error
        return Fault(FaultKind.DEAD_WORKER, f"the executor raised {error!r}") if error else future.result()

    def cancel(self) -> None:
        for future in self._running:
            future.cancel()
        self._running = {}

    def close(self) -> None:
        self.cancel()


class Mapped:
    """A pool that has ``map`` and nothing more: all blocks at once, and a wait for the last."""

    def __init__(self, calls: Calls, pool: Any, num_workers: int) -> None:
        self._pool, self._payload, self._token = pool, payload_of(calls), secrets.token_hex(8)
        self.num_workers = num_workers
        self._waiting: list[Block] = []

    @property
    def num_free(self) -> int:
        """Any number: blocks wait until they are collected."""
        return 10**9

    def submit(self, block: Block) -> None:
        self._waiting.append(block)

    def collect(self) -> list[Finished]:
        blocks, self._waiting = self._waiting, []
        outcomes = self._map(blocks, None)
        missing = [i for i, outcome in enumerate(outcomes) if outcome == NEEDS_FUNCTION]
        for i, outcome in zip(missing, self._map([blocks[i] for i in missing], self._payload), strict=True):
            outcomes[i] = outcome
        return list(zip(blocks, outcomes, strict=True))

    def _map(self, blocks: list[Block], payload: bytes | None) -> list[Any]:
        return list(self._pool.map(_evaluate_task, [(self._token, payload, block) for block in blocks]))

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
    """A ``multiprocessing`` or Ray pool."""

    def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        pool.apply_async(function, arguments, callback=future.set_result, error_callback=future.set_exception)
        return future

    return Futures(calls, submit, size_of(pool), timeout, payload_of(calls))


def from_dask(client: Any, calls: Calls, timeout: float | None) -> Futures:
    """A Dask cluster: the function is scattered to the workers, and fetched by those that come later."""
    payload = client.scatter(payload_of(calls), broadcast=True, hash=False)

    def submit(function: Callable[..., Any], token: str, _: object, block: Block) -> Future[Any]:
        future: Future[Any] = Future()

        def finish(remote: Any) -> None:
            error = remote.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(remote.result())

        remote = client.submit(function, token, payload, block, pure=False)
        remote.add_done_callback(finish)
        future.remote = remote  # type: ignore[attr-defined]  # Dask forgets a task that nobody holds
        return future

    return Futures(calls, submit, sum(client.nthreads().values()), timeout, payload)


def size_of(executor: Any) -> int:
    """How many workers an executor or pool says it has."""
    for name in ("_max_workers", "num_workers", "_processes", "size"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    return os.cpu_count() or 1
