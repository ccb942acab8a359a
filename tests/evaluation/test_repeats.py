"""The two evaluations at the end of a run that nobody asked for: when they are made, and that they cost nothing."""

import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import steinbox as sb
from steinbox.evaluation import evaluator

START = sb.Gaussian([0.0, 0.0], std=3.0)
NUM_EVALS = 50


class Counted:
    """A function that counts its calls, and does something else from the 51st on."""

    def __init__(self, at_the_end=None, before=None):
        self.num_calls, self.at_the_end, self.before = 0, at_the_end, before

    def __call__(self, x):
        self.num_calls += len(np.atleast_2d(x))
        react = self.before if self.num_calls <= NUM_EVALS else self.at_the_end
        if react is not None:
            react()
        return -0.5 * np.sum(x**2, axis=-1)


def run(log_prob, **settings):
    method = sb.GFSVGD(num_iterations=1)
    return sb.sample(log_prob, START, **{"num_particles": 25, "method": method, "seed": 1} | settings)


def assert_complete(result):
    assert result.status is sb.Status.FINISHED
    assert (result.num_evals, result.num_failures) == (NUM_EVALS, 0)
    assert not any("at the end of the run" in warning for warning in result.warnings)


@pytest.mark.parametrize("vectorized", [False, True])
def test_expensive_functions_are_not_called_again(monkeypatch, vectorized):
    """A vectorized one may take as long for one point as for all, however little that is per point."""
    monkeypatch.setattr(evaluator, "_MAX_SECONDS_TO_REPEAT", 0.01)
    fast, slow = Counted(), Counted(before=lambda: time.sleep(0.02))
    assert_complete(run(fast, vectorized=vectorized))
    assert_complete(run(slow, vectorized=vectorized))
    assert (fast.num_calls, slow.num_calls) == (NUM_EVALS + 2, NUM_EVALS)


def test_a_second_is_what_counts_as_expensive():
    assert evaluator._MAX_SECONDS_TO_REPEAT == 1.0


def test_not_when_the_time_is_up():
    """It is up during the last evaluation."""
    log_prob = Counted()
    log_prob.before = lambda: time.sleep(0.6) if log_prob.num_calls == NUM_EVALS else None
    assert run(log_prob, max_seconds=0.5).num_evals == NUM_EVALS
    assert log_prob.num_calls == NUM_EVALS


def test_not_after_a_call_that_hung():
    release = threading.Event()
    log_prob = Counted()
    log_prob.before = lambda: release.wait() if log_prob.num_calls == 40 else None
    with ThreadPoolExecutor(2) as threads:
        result = run(log_prob, executor=threads, timeout=0.3)
        release.set()
    assert result.failures["timeout"].count == 1
    assert result.status is sb.Status.FINISHED
    assert log_prob.num_calls == NUM_EVALS


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_error_then_costs_nothing_and_ends_it(error):
    def fail():
        raise error

    log_prob = Counted(at_the_end=fail)
    assert_complete(run(log_prob))
    assert log_prob.num_calls == NUM_EVALS + 1


def test_a_hanging_call_then_takes_one_time_out():
    release = threading.Event()
    log_prob = Counted(at_the_end=release.wait)
    with ThreadPoolExecutor(2) as threads:
        start = time.monotonic()
        result = run(log_prob, executor=threads, timeout=0.5)
        seconds = time.monotonic() - start
        release.set()
    assert_complete(result)
    assert log_prob.num_calls == NUM_EVALS + 1
    assert 0.5 < seconds < 1.5


def test_an_executor_that_is_gone_by_then_costs_nothing():
    """It refuses whatever is submitted."""
    with ThreadPoolExecutor(1) as threads:

        def leave(iteration):
            if iteration.num_evals == NUM_EVALS:
                threads.shutdown()

        assert_complete(run(Counted(), executor=threads, callback=leave))


def test_an_executor_that_broke_since_costs_nothing():
    with ProcessPoolExecutor(1) as processes:

        def kill(iteration):
            if iteration.num_evals == NUM_EVALS:
                for process in processes._processes.values():
                    process.kill()
                    process.join()

        assert_complete(run(Counted(), executor=processes, callback=kill))
