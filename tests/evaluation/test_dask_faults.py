"""The faults of ``benchmarks/faults`` on a Dask cluster: each costs its point, and each is counted exactly.

Points that kill their worker need a cluster that does not give up workers that are missing for some time: otherwise it
may be left without any, and the run ends. That a worker may die is tested in ``test_executors.py``. Calls that hang
take half a minute, and on a busy machine one that does not may be as late.
"""

import os
import time
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest
from injections import DIMENSION, FAULTS, Faulty

import steinbox as sb
from steinbox.evaluation import dask
from steinbox.evaluation.calls import Block, Calls
from steinbox.evaluation.executors import as_workers

REPORTED_AS = {"NaN": "nan", "+inf": "infinite", "exception": "exception", "hang": "timeout"}
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when a worker is killed


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


KINDS = [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "hang")) for kind in FAULTS if kind != "kill"]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_is_counted_exactly_under_dask(kind, asynchronous, client, tmp_path):
    journal = tmp_path / "journal"
    journal.touch()
    result = sb.sample(
        Faulty(kind, journal),
        sb.Gaussian([0.0] * DIMENSION, std=3.0),
        method=sb.AdaptiveImportanceSampling(stop_early=False),
        executor=client,
        asynchronous=asynchronous,
        timeout=4.0 if kind == "hang" else None,
        num_particles=20,
        max_evals=300,
        seed=1,
    )
    points = set(journal.read_text().split())
    assert len(points) >= 2
    expected = {REPORTED_AS[kind]: len(points)} if kind in REPORTED_AS else {}
    assert {name: failure.count for name, failure in result.failures.items()} == expected
    assert result.status is sb.Status.BUDGET_SPENT
    assert result.num_evals == 300


# -- a cluster without workers -----------------------------------------------------------------------------------------

START = sb.Gaussian([0.0, 0.0], std=3.0)


class LosesItsWorkers:
    """A client whose cluster answers so many calls, has no workers from then on, and never answers the others."""

    cluster = None
    scatter = scheduler_info = None  # it looks like a client

    def __init__(self, num_answered, error=None):
        self.num_answered, self.num_calls, self.error = num_answered, 0, error

    @property
    def is_empty(self):
        return self.num_calls > self.num_answered

    def nthreads(self):
        if self.is_empty and self.error is not None:
            raise self.error
        return {} if self.is_empty else {"tcp://one": 1, "tcp://two": 1}

    def submit(self, function, *arguments, pure):
        future = Future()
        self.num_calls += 1
        if not self.is_empty:
            future.set_result(function(*arguments))
        return future


@pytest.fixture
def impatient(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask, "_UNKNOWN_SECONDS", 0.5)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("error", [None, OSError("connection refused")])
def test_a_cluster_that_loses_all_workers_ends_the_run_with_a_result(asynchronous, error, impatient):
    settings = {"num_particles": 20, "max_evals": 2_000, "seed": 1, "asynchronous": asynchronous}
    result = sb.sample(normal, START, executor=LosesItsWorkers(15, error), **settings)
    assert result.status is sb.Status.WORKERS_LOST
    assert 10 <= result.num_evals == len(result.archive)
    words = "the Dask cluster has no workers left" if error is None else "does not answer (OSError: connection refused"
    assert any(words in warning for warning in result.warnings)
    np.testing.assert_allclose(result.log_prob, [normal(x) for x in result.particles])


def test_a_cluster_that_loses_all_workers_before_anything_is_back_is_said_in_words(impatient):
    with pytest.raises(sb.WorkersLostError, match="Does log_prob kill its process"):
        sb.sample(normal, START, executor=LosesItsWorkers(0), seed=1)


def normal(x):
    return -0.5 * float(x @ x)


class Empty:
    """A client whose cluster has no workers, and one of these plans."""

    def __init__(self, cluster):
        self.cluster, self.threads = cluster, {}

    def nthreads(self):
        return self.threads


def test_a_cluster_that_may_have_workers_again_is_waited_for(monkeypatch):
    pytest.importorskip("distributed")
    from distributed.deploy.local import LocalCluster
    from distributed.deploy.spec import SpecCluster

    def cluster(kind, requested, adaptive=None):
        made = type(kind.__name__, (kind,), {"__init__": lambda self: None, "requested": requested})()
        made._adaptive = adaptive
        return made

    unknown = dask.find_patience(Empty(None))
    assert dask.find_patience(Empty(SimpleNamespace())) == unknown == 600.0
    assert dask.find_patience(Empty(cluster(SpecCluster, set(), adaptive=object()))) == np.inf
    assert dask.find_patience(Empty(cluster(SpecCluster, {"job 1"}))) == np.inf, "it waits in a queue"
    starts, closed = (dask.find_patience(Empty(cluster(LocalCluster, each))) for each in ({0}, set()))
    assert closed < starts < unknown


def test_a_cluster_that_has_no_worker_yet_is_waited_for(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask, "_UNKNOWN_SECONDS", 0.0)
    client = Empty(None)
    count = dask.DaskCount(client)
    assert count() == count() == 1
    client.threads = {"tcp://one": 4}
    assert count() == 4
    client.threads = {}
    with pytest.raises(sb.WorkersLostError, match="no workers left"):
        count()


# -- a cluster that grows and shrinks ----------------------------------------------------------------------------------


def slow(x):
    time.sleep(0.04)
    return normal(x)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_adaptive_cluster_grows_and_shrinks_in_mid_run(asynchronous):
    """It grows only if more points are there than it has workers."""
    distributed = pytest.importorskip("distributed")
    settings = {"num_particles": 20, "max_evals": 100, "seed": 1}
    seen = []
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def watch(iteration):
            seen.append((iteration.num_evals, len(client.nthreads())))
            if iteration.num_evals > 50 and seen[-2][0] <= 50:
                cluster.adapt(minimum=1, maximum=1, interval="20ms", wait_count=1)

        cluster.adapt(minimum=1, maximum=3, interval="20ms", target_duration="40ms")
        result = sb.sample(slow, START, executor=client, asynchronous=asynchronous, callback=watch, **settings)
    assert max(number for _, number in seen) > 1
    assert seen[-1][1] == 1
    assert result.status is sb.Status.BUDGET_SPENT
    assert result.num_failures == 0
    again = sb.sample(normal, START, asynchronous=result.arrivals if asynchronous else False, **settings)
    np.testing.assert_array_equal(again.particles, result.particles)


def test_a_point_that_waits_in_an_adaptive_cluster_is_not_late():
    """Its clock starts when those before it are back, though Dask does not say which of two runs."""
    pytest.importorskip("distributed")
    client = LosesItsWorkers(num_answered=0)
    client.nthreads = lambda: {"tcp://one": 1}
    client.cluster = SimpleNamespace(_adaptive=SimpleNamespace(maximum=4))
    workers = as_workers(client, Calls(normal), timeout=0.2)
    workers._grace_seconds = 0.0
    assert workers.num_free == 2
    for number in range(2):
        workers.submit(Block(np.zeros((1, 2)), np.array([number])))
    start, late = time.monotonic(), []
    while len(late) < 2:
        late += [(block.numbers[0], time.monotonic() - start) for block, _ in workers.collect()]
    assert [number for number, _ in late] == [0, 1]
    assert late[0][1] >= 0.2
    assert late[1][1] >= 0.4


# -- a function that kills ---------------------------------------------------------------------------------------------


def kills_always(x):
    os._exit(1)


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
def test_points_that_kill_their_workers_are_counted_exactly(asynchronous, tmp_path):
    """Each kills eight workers; a cluster that would give up those that are missing after 15 seconds may lose all."""
    distributed = pytest.importorskip("distributed")
    journal = tmp_path / "journal"
    journal.touch()
    with (
        distributed.scheduler.dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        settings = {"num_particles": 20, "max_evals": 200, "seed": 1, "asynchronous": asynchronous}
        start = sb.Gaussian([0.0] * DIMENSION, std=3.0)
        result = sb.sample(Faulty("kill", journal), start, executor=client, **settings)
    points = set(journal.read_text().split())
    assert {name: failure.count for name, failure in result.failures.items()} == {"dead worker": len(points)}
    assert len(points) == 3
    assert result.status is sb.Status.BUDGET_SPENT


def kills_now_and_then(x):
    if 0.8 < (100 * x[0]) % 1 < 0.9:
        os._exit(1)
    return normal(x)


@pytest.mark.slow
@pytest.mark.parametrize("log_prob", [kills_always, kills_now_and_then])
def test_a_function_that_kills_its_workers_does_not_wait_for_ever(log_prob):
    """How often Dask starts a worker again before it gives it up depends on the machine; both are right."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        try:
            result = sb.sample(log_prob, START, executor=client, num_particles=20, max_evals=200, seed=1)
        except (sb.WorkersLostError, sb.TargetError):
            assert log_prob is kills_always
            return
    assert result.num_evals >= 10
    if result.status is not sb.Status.WORKERS_LOST:
        assert result.failures["dead worker"].count > 0
