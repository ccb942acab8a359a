"""The time that a run may take, while calls hang: it is looked at whatever workers do.

How long anything takes on a busy machine is not known, so that in most of these tests the time is up as soon as so many
calls hang as there are workers.
"""

import multiprocessing.pool
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

import steinbox as sb
from steinbox.evaluation import Calls, Evaluator
from steinbox.evaluation.futures import Futures

START = sb.Gaussian([0.0, 0.0], std=3.0)
HANG = 300.0  # seconds, unless a test is over
PATIENCE = 120.0


def run(log_prob, executor, **settings):
    settings = {"num_particles": 20, "max_evals": 400, "max_seconds": 3600.0, "seed": 1} | settings
    return sb.sample(log_prob, START, executor=executor, **settings)


def log_prob(x):
    return -0.5 * float(x @ x)


def time_is_up_when(monkeypatch, condition):
    monkeypatch.setattr(Evaluator, "is_late", property(lambda self: condition()))


class HangsLater:
    """Answers so many calls, as a journal counts them, and hangs in all later ones."""

    def __init__(self, num_answered, journal):
        self.num_answered, self.journal = num_answered, journal

    def __call__(self, x):
        with self.journal.open("a") as file:
            file.write(".")
            number = file.tell()
        if number > self.num_answered:
            time.sleep(HANG)
        return log_prob(x)


class Threads:
    """Two threads, in which calls hang until the test is over."""

    def __init__(self):
        self.executor, self.over = ThreadPoolExecutor(2), threading.Event()
        self.num_calls, self.num_hanging, self.lock = 0, 0, threading.Lock()

    def hang_after(self, num_answered, most=2):
        """A log-density that hangs after so many calls, in so many of them at most."""

        def hangs(x):
            with self.lock:
                self.num_calls += 1
                is_stuck = self.num_calls > num_answered and self.num_hanging < most
                self.num_hanging += is_stuck
            if is_stuck:
                self.over.wait(HANG)
            return log_prob(x)

        return hangs


@pytest.fixture
def threads(monkeypatch):
    made = Threads()
    time_is_up_when(monkeypatch, lambda: made.num_hanging == 2)
    yield made
    made.over.set()
    made.executor.shutdown()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_on_threads_that_all_hang_ends_in_time(threads, asynchronous):
    result = run(threads.hang_after(80), threads.executor, asynchronous=asynchronous)
    assert result.status is sb.Status.TIME_SPENT
    assert 10 <= result.num_evals == len(result.archive) <= 80
    if not asynchronous:  # where it may be noticed between two tells
        assert "max_seconds=3600 had passed" in result.warnings[0]
    np.testing.assert_allclose(result.log_prob, [log_prob(x) for x in result.particles])


def test_a_run_on_processes_that_all_hang_ends_in_time(monkeypatch, tmp_path):
    journal = tmp_path / "journal"
    journal.touch()
    time_is_up_when(monkeypatch, lambda: journal.stat().st_size >= 62)
    start = time.monotonic()
    result = run(HangsLater(60, journal), 2)
    assert time.monotonic() - start < PATIENCE
    assert result.status is sb.Status.TIME_SPENT
    assert result.num_failures == 0, "it is not known that they failed"
    assert np.isfinite(result.log_prob).all()


def test_a_pool_whose_calls_all_hang_ends_in_time(threads):
    with multiprocessing.pool.ThreadPool(2) as pool:
        assert run(threads.hang_after(80), pool).status is sb.Status.TIME_SPENT
        threads.over.set()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_if_nothing_has_come_back_that_is_said_in_words(asynchronous):
    """By the clock itself."""
    made = Threads()
    try:
        with pytest.raises(sb.TimeSpentError, match="max_seconds=1 had passed after 0 evaluations"):
            run(made.hang_after(0), made.executor, max_seconds=1.0, asynchronous=asynchronous)
    finally:
        made.over.set()
        made.executor.shutdown()


@pytest.mark.parametrize("method", [None, sb.AnnealedGFSVGD(), sb.baselines.SMC(), sb.baselines.RandomWalkMetropolis()])
def test_a_first_batch_that_hangs_in_part_is_a_result(threads, method):
    """Of 20 particles (33 points for the default) there are some ten values when the others hang."""
    result = run(threads.hang_after(18), threads.executor, method=method, asynchronous=False)
    assert result.status is sb.Status.TIME_SPENT
    assert 10 <= result.num_evals == len(result.archive) <= 18
    inside = np.isfinite(result.log_prob)
    np.testing.assert_allclose(result.log_prob[inside], [log_prob(x) for x in result.particles[inside]])
    assert inside.sum() >= 10


def test_one_call_that_hangs_does_not_cost_all_others(threads, monkeypatch):
    time_is_up_when(monkeypatch, lambda: threads.num_hanging == 1 and threads.num_calls >= 20)
    result = run(threads.hang_after(0, most=1), threads.executor, asynchronous=False, method=sb.AnnealedGFSVGD())
    assert result.status is sb.Status.TIME_SPENT
    assert 10 <= result.num_evals < 20


def test_a_run_that_resumes_into_a_call_that_hangs_returns_what_it_had(threads, tmp_path, monkeypatch):
    settings = {"checkpoint": tmp_path / "run.ckpt", "method": sb.GFSVGD(num_iterations=20), "max_evals": None}
    first = run(log_prob, threads.executor, **settings, callback=lambda iteration: iteration.index == 3)
    time_is_up_when(monkeypatch, lambda: threads.num_hanging == 1)
    second = run(threads.hang_after(0), threads.executor, **settings)
    assert second.status is sb.Status.TIME_SPENT
    np.testing.assert_array_equal(second.particles, first.particles)


def test_workers_that_hang_beyond_the_timeout_are_not_waited_for_beyond_the_time(threads):
    """They have ten time-outs to return, of which nothing is heard; meanwhile somebody looks at the clock."""
    workers = Futures(Calls(log_prob), threads.executor.submit, 1, timeout=HANG, payload=None)
    workers._abandoned = {Future()}
    start = time.monotonic()
    assert workers.collect() == []
    assert time.monotonic() - start < PATIENCE
