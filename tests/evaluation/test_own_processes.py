"""Processes of steinbox's own: what becomes of them, and of the run, when they grow, die, start slowly or lose us."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import psutil
import pytest

import steinbox as sb
from steinbox.evaluation import processes
from steinbox.evaluation.calls import Block, Calls
from steinbox.evaluation.faults import Fault, FaultKind
from steinbox.evaluation.processes import Processes

PATIENCE = 90.0  # seconds for what takes one on an idle machine


def run(log_prob, **settings):
    start = sb.Gaussian([0.0, 0.0], std=3.0)
    return sb.sample(log_prob, start, **{"num_particles": 20, "max_evals": 200, "seed": 1} | settings)


def workers_of(pid):
    """Processes of steinbox's own that this one has started."""
    children = psutil.Process(pid).children()
    return {child.pid for child in children if "popen_loky" in " ".join(child.cmdline())}


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def evaluate(workers, x):
    """The value, or the fault, at one point."""
    while workers.num_free == 0:
        assert workers.collect() == []
    workers.submit(Block(np.array([[x]]), np.array([0])))
    while not (finished := workers.collect()):
        pass
    ((_, outcome),) = finished
    return outcome if isinstance(outcome, Fault) else outcome.log_prob[0]


@pytest.mark.filterwarnings("ignore:A worker (stopped|was restarted)")  # loky's own
def test_a_process_that_grows_and_is_started_anew_costs_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("LOKY_MAX_MEMORY_LEAK_SIZE", "1e7")  # 300 MB if not set

    def hoard(x):
        (tmp_path / str(os.getpid())).touch()
        held = vars(sb).setdefault("held", [])
        held.append(np.ones(5_000_000) if len(held) == 1 and len(list(tmp_path.iterdir())) == 1 else None)
        time.sleep(0.01)
        return -0.5 * float(x @ x)

    result = run(hoard, executor=1)
    assert len(list(tmp_path.iterdir())) == 2, "loky has replaced it"
    assert result.status is sb.Status.BUDGET_SPENT
    assert result.num_failures == 0


SCRIPT = """
    import os, sys, threading, time
    import steinbox as sb
    def log_prob(x):
        open(f"worker-{os.getpid()}", "w").close()
        time.sleep(0.01)
        return -float(x @ x)
    def run():
        sb.sample(log_prob, sb.Gaussian([0.0], std=3.0), max_evals=100_000, executor=2)
    if __name__ == "__main__":
        if "thread" in sys.argv:  # where SIGTERM cannot be caught
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        else:
            run()
"""


@pytest.fixture
def start_script(tmp_path):
    """Starts a run in a process group of its own, with its own folder for temporary files."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "tmp").mkdir()
    started = []

    def start(*arguments):
        environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
        command = [sys.executable, "script.py", *arguments]
        started.append(
            subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
        )
        return started[-1].pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_workers_end_with_a_parent_that_is_killed_while_they_start(start_script):
    parent = start_script()
    wait_until(lambda: len(workers_of(parent)) == 2)
    workers = [psutil.Process(pid) for pid in workers_of(parent)]
    os.kill(parent, signal.SIGKILL)
    alive = psutil.wait_procs(workers, timeout=PATIENCE)[1]
    for process in alive:
        process.kill()
    assert not alive


@pytest.mark.parametrize("arguments", [(), ("thread",)])
def test_no_file_stays_after_a_signal_to_the_group(start_script, tmp_path, arguments):
    parent = start_script(*arguments)
    wait_until(lambda: len(workers_of(parent)) == 2)
    assert list((tmp_path / "tmp").glob("steinbox-*"))
    os.killpg(parent, signal.SIGTERM)
    wait_until(lambda: not list((tmp_path / "tmp").glob("steinbox-*")))


def test_no_file_stays_of_a_function_that_cannot_be_sent(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run(lambda x: -float(x @ x), executor=1, max_evals=40)
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot be sent"):
        run(lambda x: 0.0 if lock else 1.0, executor=1)
    assert not list(tmp_path.iterdir())


def dies_or_says_who_it_is(x):
    if x[0] > 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def test_after_a_first_loss_a_spare_process_is_ready():
    workers = Processes(Calls(dies_or_says_who_it_is), 1, None)
    try:
        assert evaluate(workers, 1.0).kind is FaultKind.DEAD_WORKER
        second = evaluate(workers, -1.0)
        (spare,) = workers_of(os.getpid()) - {second}
        assert evaluate(workers, 1.0).kind is FaultKind.DEAD_WORKER
        assert evaluate(workers, -1.0) == spare
    finally:
        workers.close()
    assert not workers_of(os.getpid())


class SlowAtFirst:
    """Its first call in a process takes long, as if something were compiled; it hangs at some points."""

    is_warm = False

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, x):
        if not self.is_warm:
            time.sleep(1.0)
            self.is_warm = True
            (self.folder / str(os.getpid())).touch()
        if 0.8 < (100 * x[0]) % 1 < 0.82:
            time.sleep(1000)
        return -0.5 * float(x @ x)


def test_first_calls_may_take_longer_than_the_timeout(tmp_path):
    result = run(SlowAtFirst(tmp_path), executor=2, timeout=0.3)
    assert set(result.failures) == {"timeout"}, "only of those that hang"
    assert 0.8 < (100 * result.failures["timeout"].point[0]) % 1 < 0.82
    assert 2 < len(list(tmp_path.iterdir())) <= 2 + 2 * result.num_failures, "what replaced them was patiently started"
    assert result.status is sb.Status.BUDGET_SPENT


def test_patience_with_first_calls_has_an_end(monkeypatch):
    monkeypatch.setattr(processes, "START_SECONDS", 1.0)
    workers = Processes(Calls(lambda x: time.sleep(1000)), 1, timeout=0.1)
    try:
        assert evaluate(workers, 0.0).kind is FaultKind.TIMEOUT
        assert evaluate(workers, 0.0).kind is FaultKind.TIMEOUT
        assert workers._cold_seconds == 0, "it was waited for in vain, and is so once"
    finally:
        workers.close()
