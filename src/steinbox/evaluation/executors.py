"""Workers for what the user gave as ``executor=``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from steinbox.evaluation.calls import Block, Calls
from steinbox.evaluation.dask import DaskCount
from steinbox.evaluation.futures import Futures
from steinbox.evaluation.map_pool import MapPool
from steinbox.evaluation.processes import Processes
from steinbox.evaluation.remote import serialize
from steinbox.evaluation.workers import InProcess, Workers, WorkersLostError

_MAX_SCATTERS = 10  # times that the function is sent, if the worker that should take it is not there
_MAX_BYTES_IN_TASK = 1_000_000  # what is scattered is lost with its worker, and the call with it: no more than need be
_SECONDS_TO_NOTICE = 0.3  # between two of them, for the scheduler to notice


def as_workers(executor: object, calls: Calls, timeout: float | None) -> Workers:
    """Workers for ``executor=``: this process for None, a number of processes, or an executor or pool of the user's."""
    if executor is None:
        if timeout is not None:
            raise ValueError("timeout= needs a process that can be stopped: give executor=1, or more")
        return InProcess(calls)
    if isinstance(executor, int | np.integer) and not isinstance(executor, bool):
        if executor < 1:
            raise ValueError(f"expected executor to be at least 1 process, got {executor}")
        return Processes(calls, int(executor), timeout)
    if hasattr(executor, "scatter") and hasattr(executor, "scheduler_info"):
        return _from_dask(executor, calls, timeout)
    if hasattr(executor, "submit"):
        return _from_executor(executor, calls, timeout)
    if hasattr(executor, "apply_async"):
        return _from_pool(executor, calls, timeout)
    if hasattr(executor, "map"):
        if timeout is not None:
            raise ValueError("a pool that has only `map` cannot enforce timeout=: give executor=2, or more")
        return MapPool(calls, executor, _num_workers(executor))
    raise TypeError(
        "expected executor to be a number of processes, a concurrent.futures executor, a dask.distributed Client, or a "
        f"pool with `map`; got {type(executor).__name__}"
    )


def _from_executor(executor: Any, calls: Calls, timeout: float | None) -> Futures:
    """A ``concurrent.futures`` executor, or one that looks like it. Threads need no copy of the function."""
    in_threads = isinstance(executor, ThreadPoolExecutor)
    return Futures(calls, executor.submit, _num_workers(executor), timeout, None if in_threads else serialize(calls))


def _from_pool(pool: Any, calls: Calls, timeout: float | None) -> Futures:
    """A ``multiprocessing`` or Ray pool, or one of threads."""
    from multiprocessing.pool import ThreadPool

    def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        pool.apply_async(function, arguments, callback=future.set_result, error_callback=future.set_exception)
        return future

    payload = None if isinstance(pool, ThreadPool) else serialize(calls)
    return Futures(calls, submit, _num_workers(pool), timeout, payload, check=_process_check(pool))


def _process_check(pool: Any) -> Callable[[], None]:
    """A check for a ``multiprocessing`` pool, which never answers the call of a process that died or was terminated."""
    from multiprocessing.pool import TERMINATE

    def processes() -> set[Any]:
        return {getattr(process, "pid", None) for process in getattr(pool, "_pool", ())}

    first = processes()
    renews_processes = getattr(pool, "_maxtasksperchild", None) is not None

    def check() -> None:
        if getattr(pool, "_state", None) == TERMINATE:
            raise WorkersLostError("the pool was terminated")
        if not renews_processes and not processes() >= first:
            raise WorkersLostError("a process of the pool died, and its call with it; executor=2 would replace it")

    return check


def _from_dask(client: Any, calls: Calls, timeout: float | None) -> Futures:
    """A Dask cluster, which may grow and shrink; the function is sent to a worker that asks for it."""
    held: set[Any] = set()  # Dask drops a task whose future is not referenced

    def submit(function: Callable[..., Any], token: str, payload: bytes | None, block: Block) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def finish(remote: Any) -> None:
            held.discard(remote)
            try:
                future.set_result(remote.result())
            except BaseException as error:  # also that it was cancelled, or lost with its worker
                future.set_exception(error)

        is_large = payload is not None and len(payload) > _MAX_BYTES_IN_TASK
        sent = _scatter(client, payload) if payload is not None and is_large else payload
        remote = client.submit(function, token, sent, block, pure=False)
        held.add(remote)
        remote.add_done_callback(finish)
        return future

    count = DaskCount(client)
    return Futures(calls, submit, count(), timeout, serialize(calls), count=count)


def _scatter(client: Any, payload: bytes) -> Any:
    """Send bytes to a worker of Dask; the scheduler may name one that has just died, for a while."""
    for _ in range(_MAX_SCATTERS - 1):
        try:
            return client.scatter(payload, hash=False)
        except OSError:
            time.sleep(_SECONDS_TO_NOTICE)
    return client.scatter(payload, hash=False)


def _num_workers(executor: Any) -> int:
    """How many workers an executor or pool says it has."""
    for name in ("_max_workers", "num_workers", "_processes", "size"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    return os.cpu_count() or 1
