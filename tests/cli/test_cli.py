"""The command line as a person uses it."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import steinbox as sb
from steinbox.cli.main import app
from steinbox.cli.methods import Method

MODEL = """
import steinbox as sb
import numpy as np

initial = sb.Gaussian([0.0, 0.0], std=2.0)
names = ["left [red]", "right"]

def log_prob(x):
    return -0.5 * float(x @ x)

def score(x):
    return -x

def broken(x):
    values = {}
    return values["missing"]

def batch(x):
    return -0.5 * (x**2).sum(axis=1)
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


@pytest.fixture
def run(tmp_path):
    def call(*arguments):
        common = [] if arguments[0] != "sample" else ["--out", str(tmp_path / "run.npz"), "--particles", "20"]
        return CliRunner().invoke(app, [*map(str, arguments), *common], env={"COLUMNS": "200", "NO_COLOR": "1"})

    return call


def test_workers_that_do_not_wait(run, model, tmp_path):
    asked = ("sample", f"{model}:log_prob", "--max-evals", 200, "--seed", 3, "--workers", 1)
    for option, is_asynchronous in (("--asynchronous", True), ("--in-batches", False)):
        assert run(*asked, option).exit_code == 0
        assert (sb.Result.load(tmp_path / "run.npz").arrivals is not None) == is_asynchronous
    refused = run(*asked, "--asynchronous", "--method", "gf-svgd")
    assert refused.exit_code == 1
    assert "needs whole batches" in refused.output


def test_sample_writes_what_the_library_returns(run, model, tmp_path):
    outcome = run("sample", f"{model}:log_prob", "--max-evals", 200, "--seed", 3)
    assert outcome.exit_code == 0, outcome.output
    assert "left [red]" in outcome.output
    assert "The budget of evaluations was spent" in outcome.output
    assert "wrote" in outcome.output
    loaded = sb.Result.load(tmp_path / "run.npz")
    expected = sb.sample(
        lambda x: -0.5 * float(x @ x), sb.Gaussian([0, 0], std=2), num_particles=20, max_evals=200, seed=3
    )
    np.testing.assert_array_equal(loaded.particles, expected.particles)
    assert loaded.names == ("left [red]", "right")


def test_processes_checkpoints_and_archives(run, model, tmp_path):
    settings = ["--max-evals", 200, "--seed", 3, "--checkpoint", tmp_path / "run.ckpt", "--workers", 1, "--timeout", 60]
    assert run("sample", f"{model}:log_prob", *settings).exit_code == 0
    first = sb.Result.load(tmp_path / "run.npz")
    assert run("sample", f"{model}:log_prob", *settings).exit_code == 0
    np.testing.assert_array_equal(sb.Result.load(tmp_path / "run.npz").particles, first.particles)
    other = run("sample", f"{model}:log_prob", *settings[:2], "--seed", 4, *settings[4:])
    assert other.exit_code == 1
    assert "the checkpoint belongs to another run: seed was 3 and is 4" in other.output
    earlier = first.save(tmp_path / "earlier.npz")
    assert run("sample", f"{model}:log_prob", "--max-evals", 200, "--archive", earlier, "--noise", 0.1).exit_code == 0
    assert "there is no file" in run("sample", f"{model}:log_prob", "--archive", tmp_path / "nothing").output


def test_bounds_of_the_file(run, tmp_path):
    bounded = tmp_path / "bounded.py"
    bounded.write_text("bounds = [(0, 1), (2, 3)]\ndef log_prob(x):\n    return -x[0]\n")
    assert run("sample", f"{bounded}:log_prob", "--max-evals", 200).exit_code == 0
    assert sb.Result.load(tmp_path / "run.npz").particles.min(axis=0)[1] > 2


@pytest.mark.parametrize("method", ["svgd", "gf-svgd", "annealed-svgd", "annealed-gf-svgd", "adaptive"])
def test_every_method_by_name(run, model, method, tmp_path):
    assert run("sample", f"{model}:log_prob", "--max-evals", 100, "--method", method).exit_code == 0
    chosen = sb.Result.load(tmp_path / "run.npz").config["method"]
    assert chosen.lower().removesuffix("importancesampling") == method.replace("-", "")


def test_vectorized_and_initial_from_the_command_line(run, model, tmp_path):
    start = tmp_path / "start.csv"
    np.savetxt(start, np.random.default_rng(0).standard_normal((20, 3)), delimiter=",")
    bare = tmp_path / "bare.py"
    bare.write_text("def f(x): return -(x**2).sum(axis=1)")
    for initial, dimension in [("mean=0,0,1 std=1,2,3", 3), ("mean=0 std=1", 1), (str(start), 3)]:
        outcome = run("sample", f"{bare}:f", "--vectorized", "--max-evals", 100, "--initial", initial)
        assert outcome.exit_code == 0, outcome.output
        assert sb.Result.load(tmp_path / "run.npz").particles.shape == (20, dimension)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{model}:broken"], 'return values["missing"]'),
        (["{model}:broken"], "KeyError: 'missing'"),
        (["{model}:nothing"], "defines no function 'nothing'; it has log_prob, score, broken, batch"),
        (["{model}"], "expected path/to/model.py:function"),
        (["nowhere.py:f"], "there is no file nowhere.py"),
        (["{model}:log_prob", "--initial", "0,0"], "expected --initial 'mean=0,0 std=3'"),
        (["{model}:log_prob", "--initial", "nothing.npy"], "expected --initial"),
        (["{model}:log_prob", "--max-evals", "3"], "too small to choose particles from"),
        (["{model}:batch"], "the first 50 evaluations all failed"),
        (["{model}:batch"], "(line 19 of {model})"),
    ],
)
def test_errors_are_the_user_s_lines_or_one_sentence(run, model, arguments, message):
    outcome = run("sample", *[argument.format(model=model) for argument in arguments])
    assert outcome.exit_code == 1
    assert message.format(model=model) in outcome.output
    assert "steinbox/evaluate" not in outcome.output


def test_an_error_while_the_file_loads_shows_its_line(run, tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("import numpy\nx = 1 / 0\n")
    outcome = run("sample", f"{bad}:f")
    assert outcome.exit_code == 1
    assert "line 2" in outcome.output
    assert "ZeroDivisionError" in outcome.output
    assert "cli.py" not in outcome.output


def test_a_model_may_import_its_neighbour_and_define_dataclasses(run, tmp_path):
    (tmp_path / "neighbour.py").write_text("scale = 2.0")
    careful = tmp_path / "careful_model.py"
    careful.write_text(
        "from __future__ import annotations\n"
        "import pickle\n"
        "from dataclasses import dataclass\n"
        "from neighbour import scale\n"
        "@dataclass\n"
        "class Settings:\n"
        "    scale: float = scale\n"
        "settings = pickle.loads(pickle.dumps(Settings()))\n"
        "def f(x):\n"
        "    return -float(x @ x) / settings.scale\n"
    )
    outcome = run("sample", f"{careful}:f", "--initial", "mean=0,0 std=1", "--max-evals", 60)
    assert outcome.exit_code == 0, outcome.output


def test_a_file_without_initial_needs_one(run, tmp_path):
    bare = tmp_path / "bare.py"
    bare.write_text("def f(x): return 0.0")
    assert "no initial distribution" in run("sample", f"{bare}:f").output


def test_a_folder_that_cannot_be_written_is_noticed_before_anything_is_spent(model, tmp_path):
    counting = tmp_path / "counting.py"
    counting.write_text("initial = None\ndef f(x): raise AssertionError('called')")
    blocked = tmp_path / "file"
    blocked.write_text("")
    for out in (blocked / "run.npz", tmp_path, tmp_path / "run.pkl"):
        outcome = CliRunner().invoke(app, ["sample", f"{counting}:f", "--out", str(out)])
        assert outcome.exit_code == 1
        assert "cannot write to" in outcome.output
    deep = tmp_path / "new" / "folder" / "run.npz"
    arguments = ["sample", f"{model}:log_prob", "--out", str(deep), "--particles", "10", "--max-evals", "40"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert deep.exists()


@pytest.mark.parametrize(
    ("name", "code", "sentence", "status"),
    [
        ("SIGINT", 130, "Interrupted by the user", sb.Status.INTERRUPTED),
        ("SIGTERM", 143, "Ended by a signal", sb.Status.TERMINATED),
    ],
)
def test_ctrl_c_and_a_scheduler_s_signal_save_what_is_there(name, code, sentence, status, tmp_path):
    """A real process, interrupted by a real signal while it sleeps in the user's function."""
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import os, signal\n"
        "calls = []\n"
        "def f(x):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 150:\n"
        f"        os.kill(os.getpid(), signal.{name})\n"
        "    return -float(x @ x)\n"
    )
    command = [sys.executable, "-m", "steinbox", "sample", f"{slow}:f", "--initial", "mean=0,0 std=1"]
    outcome = subprocess.run(
        [*command, "--particles", "10", "--out", str(tmp_path / "run.npz")], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == code
    assert sentence in outcome.stdout
    result = sb.Result.load(tmp_path / "run.npz")
    assert result.status is status
    assert np.isfinite(result.log_prob).all()


def test_a_model_needs_no_start(run, tmp_path):
    path = tmp_path / "posterior.py"
    path.write_text(
        "import steinbox as sb\n"
        "from scipy import stats\n"
        "def log_likelihood(p):\n"
        "    return -0.5 * (p['left'] - p['n']) ** 2\n"
        "fixed = {'n': 3}\n"
        "names = ['of', 'another', 'function']\n"
        "posterior = sb.Model(log_likelihood, prior={'left': stats.norm(0, 2), 'rate': stats.expon()})\n"
    )
    outcome = run("sample", f"{path}:posterior", "--max-evals", 500, "--seed", 0)
    assert outcome.exit_code == 0, outcome.output
    result = sb.Result.load(tmp_path / "run.npz")
    assert (result.names, result.constants) == (("left", "rate"), {"n": 3})
    assert result.mean[0] == pytest.approx(2.4, abs=0.3)


def test_a_limit_of_time_is_no_error(run, tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ndef f(x):\n    time.sleep(0.001)\n    return -float(x @ x)\n")
    outcome = run("sample", f"{slow}:f", "--initial", "mean=0,0 std=1", "--max-seconds", "1.0", "--max-evals", 90_000)
    assert outcome.exit_code == 0, outcome.output
    assert "The time ran out" in outcome.output
    assert sb.Result.load(tmp_path / "run.npz").num_evals < 90_000


def test_diagnose_judges_a_saved_run(run, tmp_path):
    target = sb.targets.Banana()
    settings = {"method": sb.AnnealedGFSVGD(num_iterations=2), "num_particles": 50, "vectorized": True, "seed": 0}
    path = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), **settings).save(tmp_path / "run.npz")
    outcome = run("diagnose", path)
    assert outcome.exit_code == 0, outcome.output
    assert "unlikely to come from the target" in " ".join(outcome.output.split())
    missing = run("diagnose", tmp_path / "none.npz")
    assert missing.exit_code == 1
    assert "there is no file" in missing.output
    (tmp_path / "other.npz").write_text("no")
    assert "is not a result that steinbox saved" in run("diagnose", tmp_path / "other.npz").output.replace("\n", " ")


def test_saved_runs_are_summarized_drawn_and_compared(run, model, tmp_path):
    paths = []
    for seed in (0, 1):
        assert run("sample", f"{model}:log_prob", "--max-evals", 400, "--seed", seed).exit_code == 0
        paths.append((tmp_path / "run.npz").rename(tmp_path / f"run{seed}.npz"))
    assert "left [red]" in run("summary", paths[0]).output
    content = json.loads(run("summary", paths[0], "--json").output)
    saved = sb.Result.load(paths[0])
    assert content["parameters"]["right"]["mean"] == saved.mean[1]
    assert content["parameters"]["right"]["quantiles"]["0.5"] == saved.quantile(0.5).value[1]
    assert content["status"] == saved.status.name
    for kind in ("corner", "marginals", "run", "coverage"):
        assert run("plot", paths[0], "--kind", kind, "--out", tmp_path / f"{kind}.png").exit_code == 0
        assert (tmp_path / f"{kind}.png").stat().st_size > 5_000
    assert run("compare", *paths).exit_code == 0
    comparison = json.loads(run("compare", *paths, "--json").output)
    assert comparison["agrees"] == sb.compare([sb.Result.load(path) for path in paths]).agrees
    assert len(comparison["mean"]) == 2
    judged = json.loads(run("diagnose", paths[0], "--json").output)
    assert judged["p_value"] == saved.diagnostics().goodness_of_fit.p_value
    alone = run("compare", paths[0])
    assert alone.exit_code == 1
    assert "expected two or more files" in alone.output


def test_bench_measures_a_method(run, monkeypatch):
    bench = importlib.import_module("steinbox.cli.bench")
    monkeypatch.setattr(bench, "_TARGETS", {"banana": sb.targets.Banana})
    arguments = ("bench", "--max-evals", 400, "--particles", 20, "--method", "smc")
    assert "banana" in run(*arguments).output
    (row,) = json.loads(run(*arguments, "--json").output)
    assert row["num_evals"] <= 400
    assert 0 < row["mmd"] < 1


def test_every_method_has_a_name():
    methods = {type(each.make()) for each in Method}
    baselines = {getattr(sb.baselines, name) for name in sb.baselines.__all__}
    assert methods >= baselines | {sb.SVGD, sb.GFSVGD, sb.AnnealedSVGD, sb.AnnealedGFSVGD}


def test_report_writes_a_page_beside_the_result(run, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    target = sb.targets.Banana()
    settings = {"method": sb.AnnealedGFSVGD(num_iterations=5), "num_particles": 50, "vectorized": True, "seed": 0}
    path = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), **settings).save(tmp_path / "run.npz")
    outcome = run("report", path)
    assert outcome.exit_code == 0, outcome.output
    assert "Can I trust this?" in (tmp_path / "run.html").read_text(encoding="utf-8")
    assert opened == []
    page = tmp_path / "new" / "page.html"
    assert run("report", path, "--out", page, "--open").exit_code == 0
    assert page.exists()
    assert opened == [page.as_uri()]
    wrong = run("report", path, "--out", tmp_path / "page.pdf")
    assert wrong.exit_code == 1
    assert "ends in .html" in wrong.output
    assert "there is no file" in run("report", tmp_path / "none.npz").output


def test_demo_shows_a_table_writes_its_files_and_opens_the_report(run, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    pytest.importorskip("matplotlib")
    outcome = run("demo", "--out", tmp_path / "demo", "--no-progress", "--open")
    assert outcome.exit_code == 0, outcome.output
    assert opened == [(tmp_path / "demo" / "report.html").as_uri()]
    assert "parameter" in outcome.output
    assert (tmp_path / "demo" / "particles.png").stat().st_size > 10_000
    assert "report.html" in outcome.output
    assert "No problems were found." in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert sb.Result.load(tmp_path / "demo" / "result.npz").status is sb.Status.CONVERGED


def test_the_installed_command_answers():
    outcome = subprocess.run(
        [sys.executable, "-m", "steinbox", "--version"], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.strip() == f"steinbox {sb.__version__}"
