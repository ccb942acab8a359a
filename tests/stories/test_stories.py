"""Whole stories of users, each in processes of its own: a model is written, run, killed by a scheduler, and resumed."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import steinbox as sb

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
MAX_SECONDS = 120  # that a story waits for one of its steps


def load(name):
    spec = importlib.util.spec_from_file_location(f"story_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def terminate_in_mid_run(command, folder, checkpoint):
    """Start a command, wait for its first checkpoint, and end it as a scheduler does."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + MAX_SECONDS
    while not (folder / checkpoint).exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=MAX_SECONDS)
    return process.returncode, output


def test_an_epidemic_is_fitted_killed_and_resumed(tmp_path, monkeypatch):
    script = shutil.copy(HERE / "epidemic.py", tmp_path)
    command = [sys.executable, script, "1"]
    code, output = terminate_in_mid_run(command, tmp_path, "epidemic.ckpt")
    assert (code, output.strip()) == (0, "TERMINATED"), "the script goes on with what is there"
    partial = sb.Result.load(tmp_path / "epidemic.npz")
    assert partial.status is sb.Status.TERMINATED
    assert partial.num_evals < 1_500
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    assert workers
    alive = [psutil.Process(pid) for pid in workers if psutil.pid_exists(pid)]
    assert not psutil.wait_procs(alive, timeout=10)[1], "no orphans"

    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    resumed = sb.Result.load(tmp_path / "epidemic.npz")
    assert output.strip() == resumed.status.name
    assert resumed.status.is_complete
    monkeypatch.chdir(tmp_path)
    settings = {"fixed": {"num_pupils": 763}, "num_particles": 100, "max_evals": 1_500, "seed": 0}
    whole = sb.sample(load("epidemic").MODEL, **settings)
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    for name in ("r0", "ill", "log_likelihood"):
        np.testing.assert_array_equal(resumed.pool_derived[name], whole.pool_derived[name])
    assert resumed.names == ("beta", "gamma", "i0")
    assert resumed.constants == {"num_pupils": 763}
    np.testing.assert_allclose(resumed.derived["r0"], resumed.particles[:, 0] / resumed.particles[:, 1])
    assert 2.5 < resumed.weights @ resumed.derived["r0"] < 5.5, "the textbook's 3.7"


def test_a_model_file_on_the_command_line(tmp_path):
    shutil.copy(HERE / "decay.py", tmp_path)
    steinbox = [sys.executable, "-m", "steinbox"]
    command = [*steinbox, "sample", "decay.py:posterior", "--particles", "50", "--max-evals", "1000", "--seed", "0"]
    command += ["--checkpoint", "decay.ckpt", "--out", "decay.npz"]
    code, output = terminate_in_mid_run(command, tmp_path, "decay.ckpt")
    assert code == 143
    assert "Ended by a signal" in output
    assert sb.Result.load(tmp_path / "decay.npz").status is sb.Status.TERMINATED
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "rate [1/s]" in output
    assert "start: counts at time zero" in output
    resumed = sb.Result.load(tmp_path / "decay.npz")
    assert resumed.units == {"rate": "1/s", "half_life": "s"}
    whole = sb.sample(load("decay").posterior, fixed={"background": 1.0}, num_particles=50, max_evals=1_000, seed=0)
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    np.testing.assert_allclose(resumed.derived["half_life"], np.log(2) / resumed.particles[:, 1])
    judged = subprocess.run(
        [*steinbox, "diagnose", "decay.npz"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert judged.returncode == 0, judged.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc")
def test_a_likelihood_in_c(tmp_path):
    for name in ("decay.c", "decay_in_c.py"):
        shutil.copy(HERE / name, tmp_path)
    subprocess.run(["cc", "-o", "decay", "decay.c", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "decay_in_c.py"], cwd=tmp_path, capture_output=True, text=True, timeout=MAX_SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert "rate [1/s]" in done.stdout
    result = sb.Result.load(tmp_path / "decay.npz")
    failure = result.failures["exception"]
    assert "expected exit code 0, got 1" in failure.message
    assert "no convergence for rate = 3" in failure.message, "the first failed point has a rate between 3 and 4"
    assert result.num_failures < 0.2 * result.num_evals
    exact = exact_decay()
    np.testing.assert_allclose(result.mean, exact[0], atol=5 * result.mean_error.max())
    np.testing.assert_allclose(np.sqrt(np.diag(result.cov)), exact[1], rtol=0.15)


def exact_decay():
    """Mean and standard deviation of the posterior of decay.c, by a sum over a grid."""
    times, counts = np.array([0.0, 1.0, 2.0, 4.0]), np.array([52, 30, 21, 6])
    start, rate = np.meshgrid(np.linspace(20, 100, 401), np.linspace(0.01, 1.5, 401), indexing="ij")
    expected = start[..., None] * np.exp(-rate[..., None] * times)
    log_prob = (counts * np.log(expected) - expected).sum(axis=-1) + 3 * np.log(start) - start / 15 - rate
    weights = np.exp(log_prob - log_prob.max())
    points, weights = np.column_stack([start.ravel(), rate.ravel()]), weights.ravel() / weights.sum()
    mean = weights @ points
    return mean, np.sqrt(weights @ (points - mean) ** 2)


def test_leave_one_out_by_arviz(tmp_path):
    pytest.importorskip("arviz", reason="the [arviz] extra is not installed")
    pytest.importorskip("matplotlib", reason="the [plot] extra is not installed")
    done = subprocess.run(
        [sys.executable, HERE / "leave_one_out.py"], cwd=tmp_path, capture_output=True, text=True, timeout=MAX_SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert "summary, loo and plot_pair are right" in done.stdout
