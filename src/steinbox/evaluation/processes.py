"""Processes of steinbox's own, by loky: one that dies or hangs is replaced, and only its block is affected."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from typing import Any

from steinbox.evaluation.calls import Block, Calls
from steinbox.evaluation.faults import Fault, FaultKind
from steinbox.evaluation.remote import evaluate_remotely, install_from_file, serialize_to_file
from steinbox.evaluation.workers import Finished, WorkersLostError

_MAX_FAILED_STARTS = 3  # in a row
_OVERHEAD_SECONDS = 0.5  # beyond the time-out, for a block of several points
_TOKEN = "own"  # of the functions, in processes that have no others
# Linear algebra starts a thread on every core; several processes that each do so slow each other down.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(eq=False)
class _Process:
    """One process, and what it does: it loads the function, waits (no future) or evaluates a block."""

    executor: Any
    future: Future[Any] | None
    block: Block | None = None
    deadline: float = float("inf")


class Processes:
    """Processes of steinbox's own, by loky: one that dies or hangs is replaced, and only its block is affected."""

    def __init__(self, calls: Calls, num_workers: int, timeout: float | None) -> None:
        if importlib.util.find_spec("loky") is None:
            raise ImportError(f'executor={num_workers} needs loky: pip install "steinbox[parallel]"')
        self._payload = serialize_to_file(calls)
        self._timeout = timeout
        self.max_block_seconds = float("inf") if timeout is None else timeout / 4
        self._num_failed_starts = 0
        self.num_workers = num_workers
        threads = str(max(1, (os.cpu_count() or 1) // num_workers))
        self._threads = {name: os.environ.get(name, threads) for name in _THREAD_VARIABLES}
        self._processes = [self._start() for _ in range(num_workers)]

    @property
    def num_free(self) -> int:
        """Processes that are ready and have nothing to do."""
        return sum(process.future is None for process in self._processes)

    def submit(self, block: Block) -> None:
        process = next(process for process in self._processes if process.future is None)
        process.block = block
        try:
            process.future = process.executor.submit(evaluate_remotely, _TOKEN, None, block)
        except BrokenExecutor as error:  # it died while it had nothing to do
            process.future = Future()
            process.future.set_exception(error)
        if self._timeout is not None:
            process.deadline = time.monotonic() + self._timeout + (_OVERHEAD_SECONDS if len(block.points) > 1 else 0.0)

    def collect(self) -> list[Finished]:
        busy = [process for process in self._processes if process.future is not None]
        seconds = min(process.deadline for process in busy) - time.monotonic()
        futures = [process.future for process in busy if process.future is not None]
        wait(futures, None if seconds == float("inf") else max(0.0, seconds), FIRST_COMPLETED)
        return [finished for process in busy for finished in self._finish(process)]

    def _finish(self, process: _Process) -> Iterable[Finished]:
        future, block = process.future, process.block
        if future is None or not (future.done() or time.monotonic() > process.deadline):
            return
        process.future, process.block, process.deadline = None, None, float("inf")
        if block is None:
            self._require_ready(process, future)
        elif not future.done():
            self._replace(process)
            yield block, Fault(FaultKind.TIMEOUT, f"no answer within timeout={self._timeout} seconds")
        elif isinstance(future.exception(), BrokenExecutor):
            self._replace(process)
            yield block, Fault(FaultKind.DEAD_WORKER, "the process that evaluated this point died")
        else:
            yield block, future.result()

    def _require_ready(self, process: _Process, future: Future[Any]) -> None:
        """Stop if a process cannot load the function, or if several in a row died while they did."""
        error = future.exception()
        if isinstance(error, BrokenExecutor) and self._num_failed_starts < _MAX_FAILED_STARTS:
            self._num_failed_starts += 1
            self._replace(process)
        elif isinstance(error, BrokenExecutor):
            raise WorkersLostError(
                f"{_MAX_FAILED_STARTS + 1} worker processes died while they loaded log_prob; is there enough memory?"
            )
        elif error is not None:
            raise WorkersLostError(f"log_prob could not be loaded in a worker process: {type(error).__name__}: {error}")
        else:
            self._num_failed_starts = 0

    def _start(self) -> _Process:
        import loky

        executor = loky.ProcessPoolExecutor(max_workers=1, timeout=None, env=self._threads)
        return _Process(executor, executor.submit(install_from_file, _TOKEN, self._payload))

    def _replace(self, process: _Process) -> None:
        process.executor.shutdown(wait=False, kill_workers=True)
        fresh = self._start()
        process.executor, process.future = fresh.executor, fresh.future

    def cancel(self) -> None:
        """Stop the processes that still evaluate something, and start others."""
        for process in self._processes:
            if process.block is not None:
                process.block, process.deadline = None, float("inf")
                self._replace(process)

    def close(self) -> None:
        for process in self._processes:
            process.executor.shutdown(wait=True, kill_workers=True)
        self._payload.unlink(missing_ok=True)
