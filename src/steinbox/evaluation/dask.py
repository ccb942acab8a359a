"""How many workers a Dask cluster has, which may grow and shrink, and may end up without any."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from steinbox.evaluation.workers import START_SECONDS, WorkersLostError

_CLOSED_SECONDS = 5.0  # without a worker, in a cluster that has asked for none
_UNKNOWN_SECONDS = 600.0  # without a worker, in a cluster of which nothing is known: somebody may start some by hand
_GROWTH = 2  # points for each thread of an adaptive cluster, which grows only if some of them wait


class DaskCount:
    """How many points a cluster may have at a time, one at least; raises once it had workers, and will not again.

    These are as many as it has threads; for an adaptive cluster some more wait, up to what it may become.

    A function that kills its worker kills the one that is started in its place, too. Dask gives up a worker that is
    missing 15 seconds after a death; its calls then wait for ever.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._last_seen: float | None = None
        self.num_threads = 1

    def __call__(self) -> int:
        try:
            threads = self._client.nthreads()
        except Exception as error:  # whatever a client raises that has lost its scheduler
            raise WorkersLostError(
                f"the scheduler of the Dask cluster does not answer ({type(error).__name__}: {error})"
            ) from error
        if threads:
            self._last_seen = time.monotonic()
        elif self._last_seen is not None and time.monotonic() > self._last_seen + find_patience(self._client):
            raise WorkersLostError(
                "the Dask cluster has no workers left, and starts no others: those that it had died, or were closed. "
                "Does log_prob kill its process? Processes started by steinbox are replaced each time: give "
                "executor=2, or any other number"
            )
        self.num_threads = max(1, sum(threads.values()))
        return max(self.num_threads, self._num_with_growth(threads))

    def _num_with_growth(self, threads: Mapping[str, int]) -> int:
        adaptive = _adaptive_of(self._client)
        if adaptive is None:
            return 0
        largest = adaptive.maximum * max(threads.values(), default=1)
        return int(min(_GROWTH * self.num_threads, largest))


def _adaptive_of(client: Any) -> Any:
    """What makes its cluster grow and shrink, if it was told to."""
    return getattr(getattr(client, "cluster", None), "_adaptive", None)


def find_patience(client: Any) -> float:
    """Seconds for which a cluster may be without workers before none is expected.

    An adaptive one will start some when it can, and so will a queue in which jobs wait.
    """
    from distributed.deploy.local import LocalCluster
    from distributed.deploy.spec import SpecCluster

    cluster = getattr(client, "cluster", None)
    if _adaptive_of(client) is not None:
        return float("inf")
    if not isinstance(cluster, SpecCluster):
        return _UNKNOWN_SECONDS
    if not cluster.requested:
        return _CLOSED_SECONDS
    return START_SECONDS if isinstance(cluster, LocalCluster) else float("inf")
