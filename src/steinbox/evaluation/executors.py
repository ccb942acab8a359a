"""What the user gave as ``executor=``."""

from __future__ import annotations

import numpy as np

from steinbox.evaluation.calls import Calls
from steinbox.evaluation.futures import Mapped, from_dask, from_executor, from_pool, size_of
from steinbox.evaluation.processes import Processes
from steinbox.evaluation.workers import Here, Workers


def as_workers(executor: object, calls: Calls, timeout: float | None) -> Workers:
    """Understand ``executor=``: nothing, a number of processes, or an executor or pool of the user's."""
    if executor is None:
        if timeout is not None:
            raise ValueError("timeout= needs a process that can be stopped: give executor=1, or more")
        return Here(calls)
    if isinstance(executor, int | np.integer) and not isinstance(executor, bool):
        if executor < 1:
            raise ValueError(f"expected executor to be at least 1 process, got {executor}")
        return Processes(calls, int(executor), timeout)
    if hasattr(executor, "scatter") and hasattr(executor, "scheduler_info"):
        return from_dask(executor, calls, timeout)
    if hasattr(executor, "submit"):
        return from_executor(executor, calls, timeout)
    if hasattr(executor, "apply_async"):
        return from_pool(executor, calls, timeout)
    if hasattr(executor, "map"):
        if timeout is not None:
            raise ValueError("timeout= cannot be kept by a pool that has only `map`: give executor=2, or more")
        return Mapped(calls, executor, size_of(executor))
    raise TypeError(
        "expected executor to be a number of processes, a concurrent.futures executor, a dask.distributed Client, or a "
        f"pool with `map`; got {type(executor).__name__}"
    )
