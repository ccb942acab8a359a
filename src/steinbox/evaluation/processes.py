"""Processes of steinbox's own, by loky: one that dies or hangs is replaced, and only its block is affected."""

from __future__ import annotations

import importlib.util
import os
import secrets
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.faults import Fault, FaultKind
from steinbox.evaluation.remote import NEEDS_FUNCTION, belong_to, evaluate_remotely, install, serialize_to_file
from steinbox.evaluation.workers import POLL_SECONDS, START_SECONDS, Finished, WorkersLostError

_MAX_FAILED_STARTS = 3  # in a row
_OVERHEAD_SECONDS = 0.5  # beyond the time-out, for a block of several points
_COLD_FACTOR = 2.0  # by which a first call may take longer than the slowest one so far
_TOKEN = "own"  # of the functions, in processes that have no others
# Linear algebra starts a thread on every core; several processes that each do so slow each other down.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(eq=False)
class _Process:
    """One process, and what it does: it loads the function, waits (no future) or evaluates a block.

    It is cold until it has returned a finite log-density: first calls compile and load, and may take long.
    """

    executor: Any
    future: Future[Any] | None
    block: Block | None = None
    since: float = 0.0
    is_cold: bool = True


class Processes:
    """Processes of steinbox's own, by loky: one that dies or hangs is replaced, and only its block is affected.

    After the first loss a spare process is kept, which has the function already. A process that is cold is given more
    time than ``timeout``: twice what the first calls of others took, and a minute before any has answered.
    """

    def __init__(self, calls: Calls, num_workers: int, timeout: float | None) -> None:
        if importlib.util.find_spec("loky") is None:
            raise ImportError(f'executor={num_workers} needs loky: pip install "steinbox[parallel]"')
        self._timeout = timeout
        self.max_block_seconds = float("inf") if timeout is None else timeout / 4
        self._num_failed_starts = 0
        self._slowest_first_call, self._cold_seconds = 0.0, START_SECONDS + (timeout or 0.0)
        self.num_workers = num_workers
        threads = str(max(1, (os.cpu_count() or 1) // num_workers))
        self._threads = {name: os.environ.get(name, threads) for name in _THREAD_VARIABLES}
        self._payload = _temporary_path()
        self._processes: list[_Process] = []
        self._spare: _Process | None = None
        self._keeps_spare = False  # until a first process is lost: most runs lose none
        try:
            serialize_to_file(calls, self._payload)
            self._processes.extend(self._start() for _ in range(num_workers))
        except BaseException:
            self.close()
            raise

    @property
    def num_free(self) -> int:
        """Processes that are ready and have nothing to do."""
        return sum(process.future is None for process in self._processes)

    def submit(self, block: Block) -> None:
        process = next(process for process in self._processes if process.future is None)
        self._evaluate(process, block)

    def _evaluate(self, process: _Process, block: Block, payload: Path | None = None) -> None:
        process.block, process.since = block, time.monotonic()
        try:
            process.future = process.executor.submit(evaluate_remotely, _TOKEN, payload, block)
        except BrokenExecutor as error:  # it died while it had nothing to do
            process.future = Future()
            process.future.set_exception(error)

    def collect(self) -> list[Finished]:
        busy = [process for process in self._processes if process.future is not None]
        seconds = min(self._deadline(process) for process in busy) - time.monotonic()
        futures = [process.future for process in busy if process.future is not None]
        wait(futures, min(max(0.0, seconds), POLL_SECONDS), FIRST_COMPLETED)
        return [finished for process in busy for finished in self._finish(process)]

    def _deadline(self, process: _Process) -> float:
        """When the block of a process has taken too long; that moves while it is learned what first calls take."""
        if self._timeout is None or process.block is None:
            return float("inf")
        seconds = self._timeout + (_OVERHEAD_SECONDS if len(process.block.points) > 1 else 0.0)
        return process.since + (max(seconds, self._cold_seconds) if process.is_cold else seconds)

    def _finish(self, process: _Process) -> Iterable[Finished]:
        future, block = process.future, process.block
        if future is None or not (future.done() or time.monotonic() > self._deadline(process)):
            return
        process.future, process.block = None, None
        if block is None:
            self._require_ready(process, future)
        elif not future.done():
            self._learn_cold_seconds(process, 0.0)
            self._replace(process, self._take_spare())
            yield block, Fault(FaultKind.TIMEOUT, f"no answer within timeout={self._timeout} seconds")
        elif isinstance(future.exception(), BrokenExecutor):
            self._replace(process, self._take_spare())
            yield block, Fault(FaultKind.DEAD_WORKER, "the process that evaluated this point died")
        elif isinstance(future.exception(), Exception):
            raise _not_loaded(future.exception())
        elif future.result() == NEEDS_FUNCTION:  # loky starts a process anew when it has grown by 300 MB
            process.is_cold = True
            self._evaluate(process, block, self._payload)
        else:
            self._warm(process, future.result())
            yield block, future.result()

    def _warm(self, process: _Process, outcome: Values | Fault) -> None:
        if isinstance(outcome, Values) and np.isfinite(outcome.log_prob).any():
            self._learn_cold_seconds(process, time.monotonic() - process.since)
            process.is_cold = False

    def _learn_cold_seconds(self, process: _Process, seconds: float) -> None:
        """Take note of a first call that took so long, or (0) of one that has had all the time there was."""
        if process.is_cold:
            self._slowest_first_call = max(self._slowest_first_call, seconds)
            self._cold_seconds = _COLD_FACTOR * self._slowest_first_call

    def _require_ready(self, process: _Process, future: Future[Any]) -> None:
        """Stop if a process cannot load the function, or if several in a row died while they did."""
        error = future.exception()
        if isinstance(error, BrokenExecutor) and self._num_failed_starts < _MAX_FAILED_STARTS:
            self._num_failed_starts += 1
            self._replace(process, self._start())
        elif isinstance(error, BrokenExecutor):
            raise WorkersLostError(
                f"{_MAX_FAILED_STARTS + 1} worker processes died while they loaded log_prob; is there enough memory?"
            )
        elif error is not None:
            raise _not_loaded(error)
        else:
            self._num_failed_starts = 0
            if self._keeps_spare and self._spare is None:
                self._spare = self._start()

    def _start(self) -> _Process:
        import loky

        executor = loky.ProcessPoolExecutor(
            max_workers=1, timeout=None, initializer=belong_to, initargs=(os.getpid(),), env=self._threads
        )
        return _Process(executor, executor.submit(install, _TOKEN, self._payload))

    def _take_spare(self) -> _Process:
        """A process for one that was lost; another spare is started when this one is ready."""
        spare = self._start() if self._spare is None else self._spare
        self._spare, self._keeps_spare = None, True
        return spare

    def _replace(self, process: _Process, fresh: _Process) -> None:
        process.executor.shutdown(wait=False, kill_workers=True)
        process.executor, process.future, process.is_cold = fresh.executor, fresh.future, True

    def cancel(self) -> None:
        """Stop the processes that still evaluate something, and start others."""
        for process in self._processes:
            if process.block is not None:
                process.block = None
                self._replace(process, self._start())

    def close(self) -> None:
        for process in (*self._processes, *filter(None, [self._spare])):
            process.executor.shutdown(wait=True, kill_workers=True)
        _remove(self._payload)


def _not_loaded(error: BaseException | None) -> WorkersLostError:
    return WorkersLostError(f"log_prob could not be loaded in a worker process: {type(error).__name__}: {error}")


def _temporary_path() -> Path:
    """A name for a file that loky's resource tracker, which survives signals to the group, removes if we cannot."""
    from loky.backend import resource_tracker

    path = Path(tempfile.gettempdir()) / f"steinbox-{secrets.token_hex(8)}"
    resource_tracker.register(str(path), "file")
    return path


def _remove(path: Path) -> None:
    from loky.backend import resource_tracker

    path.unlink(missing_ok=True)
    resource_tracker.unregister(str(path), "file")
