"""Limits as schedulers set them: time by the clock, SIGTERM, SIGHUP."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import psutil
import pytest

import steinbox as sb

START = sb.Gaussian([0.0, 0.0], std=2.0)
needs_signals = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def log_prob(x):
    return -0.5 * float(x @ x)


def run(function=log_prob, **settings):
    return sb.sample(function, START, **({"num_particles": 20, "max_evals": 2_000, "seed": 1} | settings))


def slow(x):
    time.sleep(0.002)
    return log_prob(x)


@pytest.mark.parametrize(("executor", "seconds"), [(None, 0.5), (1, 4.0)])
def test_a_run_ends_when_its_time_is_up(executor, seconds):
    endless = sb.GFSVGD(num_iterations=5_000)
    result = run(slow, max_seconds=seconds, max_evals=100_000, executor=executor, method=endless)
    assert result.status is sb.Status.TIME_SPENT
    assert not result.status.is_complete
    assert 20 <= result.num_evals < 5_000
    np.testing.assert_allclose(result.log_prob, [log_prob(row) for row in result.particles])


def test_time_that_a_sampler_spends_counts_too():
    result = run(max_seconds=0.2, method=sb.GFSVGD(num_iterations=99), callback=lambda iteration: time.sleep(0.05))
    assert result.status is sb.Status.TIME_SPENT
    assert 2 <= len(result.trace["mean_log_prob"]) < 50


def test_no_time_for_a_first_iteration_is_said_in_words():
    with pytest.raises(sb.TimeSpentError, match="max_seconds=0.01 had passed after .* before the batch was"):
        run(slow, max_seconds=0.01)


@pytest.mark.parametrize("seconds", [0, -1.0, "60", True])
def test_seconds_that_are_none_are_refused(seconds):
    with pytest.raises(ValueError, match="expected max_seconds to be a positive number of seconds"):
        run(max_seconds=seconds)


def test_a_run_that_was_out_of_time_resumes(tmp_path):
    settings = {"method": sb.GFSVGD(num_iterations=60), "max_evals": None}
    whole = run(**settings)
    path = tmp_path / "run.ckpt"
    first = run(slow, max_seconds=0.3, checkpoint=path, **settings)
    assert first.status is sb.Status.TIME_SPENT
    resumed = run(max_seconds=60, checkpoint=path, **settings)
    assert resumed.status is sb.Status.FINISHED
    np.testing.assert_array_equal(resumed.particles, whole.particles)


@needs_signals
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_end_a_run_as_ctrl_c_does(name, tmp_path):
    number = signal.Signals[name]

    def send(iteration):
        if iteration.index == 3:
            os.kill(os.getpid(), number)

    method = sb.GFSVGD(num_iterations=60)
    result = run(callback=send, method=method, max_evals=None, checkpoint=tmp_path / "run.ckpt")
    assert result.status is sb.Status.TERMINATED
    assert result.num_evals == 80
    assert signal.getsignal(number) is signal.SIG_DFL
    resumed = run(method=method, max_evals=None, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(resumed.particles, run(method=method, max_evals=None).particles)


@needs_signals
def test_a_second_signal_does_not_disturb_the_first():
    def send_twice(iteration):
        if iteration.index == 3:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
                os.kill(os.getpid(), signal.SIGTERM)

    assert run(callback=send_twice).status is sb.Status.TERMINATED


@needs_signals
@pytest.mark.parametrize("handler", [lambda number, frame: None, signal.SIG_IGN], ids=["own", "nohup"])
def test_handlers_of_the_user_s_are_left_alone(handler):
    def send(iteration):
        assert signal.getsignal(signal.SIGHUP) is handler
        os.kill(os.getpid(), signal.SIGHUP)

    signal.signal(signal.SIGHUP, handler)
    try:
        assert run(callback=send).status.is_complete
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_other_threads_run_without_handlers():
    results = []
    thread = threading.Thread(target=lambda: results.append(run()))
    thread.start()
    thread.join()
    assert results[0].status.is_complete


SCRIPT = """
import os, time
import steinbox as sb

def log_prob(x):
    open(f"worker-{{os.getpid()}}", "w").close()
    time.sleep({seconds})
    return -float(x @ x)

if __name__ == "__main__":
    sb.sample(log_prob, sb.Gaussian([0.0], std=3.0), max_evals=100_000, executor=2, checkpoint="run.ckpt")
    print("returned")
"""


@needs_signals
@pytest.mark.parametrize(("seconds", "code", "said"), [(0.005, 0, "returned"), (0.5, -signal.SIGTERM, "")])
def test_no_process_is_left_behind(seconds, code, said, tmp_path):
    """Before its first iteration is complete a run has nothing to return, and the signal kills it as it would have."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT.format(seconds=seconds)))
    parent = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    is_ready = (tmp_path / "run.ckpt").exists if code == 0 else lambda: len(list(tmp_path.glob("worker-*"))) == 2
    while not is_ready() and time.monotonic() < deadline:
        time.sleep(0.02)
    parent.send_signal(signal.SIGTERM)
    output, _ = parent.communicate(timeout=60)
    assert (parent.returncode, output.strip()) == (code, said)
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    alive = [psutil.Process(pid) for pid in workers if psutil.pid_exists(pid)]
    assert not psutil.wait_procs(alive, timeout=5)[1]
    assert not (tmp_path / "run.ckpt.lock").exists()
