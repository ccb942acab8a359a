"""Runs from files, runs that go on, and what programs and terminals get to see."""

import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import steinbox as sb
from steinbox.cli.main import app

MODEL = """
import steinbox as sb

initial = sb.Gaussian([0.0, 0.0], std=2.0)
vectorized = True

def log_prob(x):
    return -0.5 * (x**2).sum(axis=1)
"""
CONFIG = """
model = "model.py:log_prob"
max_evals = 300
particles = 20
seed = 3
checkpoint = "run.ckpt"

[settings]
stop_early = false
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "run.toml").write_text(CONFIG)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200", "NO_COLOR": "1"})


def test_a_file_has_the_options_of_a_run_and_the_command_line_wins(folder):
    assert run("sample", "--config", "run.toml").exit_code == 0
    first = sb.Result.load("run.npz")
    assert (first.num_evals, first.seed, len(first.particles)) == (300, 3, 20)
    assert first.config["settings"]["stop_early"] is False
    assert run("sample", "--config", "run.toml", "--seed", 4, "--checkpoint", "other.ckpt").exit_code == 0
    second = sb.Result.load("run-2.npz")
    assert (second.num_evals, second.seed) == (300, 4)
    assert sb.Result.load("run.npz").seed == 3, "an earlier result is not overwritten"
    assert run("sample", "other.py:f", "--config", "run.toml").output.strip() == "Error: there is no file other.py"


def test_what_was_given_is_kept_with_the_result_and_shown_in_its_report(folder):
    run("sample", "--config", "run.toml", "--max-seconds", 100)
    options = sb.Result.load("run.npz").config["options"]
    assert options == {
        "config": "run.toml",
        "model": "model.py:log_prob",
        "max-evals": 300,
        "max-seconds": 100.0,
        "particles": 20,
        "seed": 3,
        "checkpoint": "run.ckpt",
        "settings": {"stop_early": False},
    }
    run("report", "run.npz")
    assert "options.max-seconds" in (folder / "run.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_eval = 3", "run.toml has 'max_eval', which is not an option of `sample`; did you mean max-evals?"),
        ("zzz = 3", "which is not an option of `sample`; the known names are archive, asynchronous, checkpoint"),
        ("seed = [1]", "expected 'seed' to be a number, text, true or false, got [1]"),
        ("seed = = 1", "run.toml is not a TOML file"),
        ("settings = 1", "expected [settings] to be a table, got 1"),
        ("[settings]\nstop_eary = true", "has no setting 'stop_eary'; did you mean stop_early?"),
        ("[settings]\nbatch = -1", "the settings of AdaptiveImportanceSampling are wrong"),
    ],
)
def test_a_wrong_file_is_refused_in_words(folder, text, message):
    (folder / "run.toml").write_text(text)
    outcome = run("sample", "model.py:log_prob", "--config", "run.toml")
    assert outcome.exit_code == 1
    assert message in outcome.output
    assert not (folder / "run.npz").exists()


@pytest.mark.parametrize("text", ["seed = 1.5", 'method = "svgdd"', 'max_seconds = "soon"'])
def test_values_of_a_file_are_checked_as_if_they_were_typed(folder, text):
    (folder / "run.toml").write_text(text)
    outcome = run("sample", "model.py:log_prob", "--config", "run.toml")
    assert outcome.exit_code == 2
    assert "--" + text.split(" ")[0].replace("_", "-") in outcome.output


# -- runs that go on ---------------------------------------------------------------------------------------------------


def test_a_run_goes_on_with_what_its_checkpoint_holds(folder):
    assert run("sample", "--config", "run.toml").exit_code == 0
    outcome = run("resume", "run.ckpt", "model.py:log_prob", "--max-evals", 900)
    assert outcome.exit_code == 0, outcome.output
    resumed = sb.Result.load("run.npz")
    assert (resumed.num_evals, resumed.seed, len(resumed.particles)) == (900, 3, 20)
    assert resumed.config["settings"]["stop_early"] is False
    assert run("resume", "run.ckpt", "--config", "run.toml", "--max-evals", 1000).exit_code == 0
    assert sb.Result.load("run.npz").num_evals == 1000


def test_a_run_that_was_interrupted_ends_as_if_it_had_not_been(folder):
    def smc(**settings):
        settings |= {"num_particles": 20, "max_evals": 600, "record": 4, "seed": 1}
        start, method = sb.Gaussian([0.0, 0.0], std=2.0), sb.baselines.SMC()
        return sb.sample(lambda x: -0.5 * (x**2).sum(axis=1), start, method=method, vectorized=True, **settings)

    whole = smc()
    smc(checkpoint="smc.ckpt", callback=lambda iteration: iteration.index == 2)
    outcome = run("resume", "smc.ckpt", "model.py:log_prob")
    assert outcome.exit_code == 0, outcome.output
    resumed = sb.Result.load("run.npz")
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    np.testing.assert_array_equal(resumed.record.particles, whole.record.particles)


@pytest.mark.parametrize("noise", [0.5, True, sb.Noise(0.5, is_unbiased=True), sb.Noise(is_unbiased=True)])
def test_noise_is_that_of_the_checkpoint(folder, noise):
    settings = {"vectorized": True, "num_particles": 20, "max_evals": 400, "seed": 0, "checkpoint": "noisy.ckpt"}
    sb.sample(lambda x: -0.5 * (x**2).sum(axis=1), sb.Gaussian([0.0, 0.0], std=2.0), noise=noise, **settings)
    assert run("resume", "noisy.ckpt", "model.py:log_prob", "--max-evals", 500).exit_code == 0


def test_what_cannot_go_on_is_said(folder):
    assert "there is no checkpoint run.ckpt" in run("resume", "run.ckpt", "model.py:log_prob").output
    (folder / "bad.ckpt").write_text("no")
    assert "is not a checkpoint" in run("resume", "bad.ckpt", "model.py:log_prob").output
    run("sample", "--config", "run.toml")
    (folder / "model.py").write_text(MODEL.replace("-0.5", "-0.7"))
    assert "it is a different function" in run("resume", "run.ckpt", "model.py:log_prob").output
    (folder / "model.py").write_text(MODEL.replace("std=2.0", "std=2.5"))
    assert "`initial` differs" in run("resume", "run.ckpt", "model.py:log_prob").output


# -- programs and terminals --------------------------------------------------------------------------------------------


def test_a_program_gets_json_and_nothing_else(folder):
    outcome = run("sample", "--config", "run.toml", "--json")
    content = json.loads(outcome.stdout)
    assert content["num_evals"] == 300
    assert content["file"] == "run.npz"
    assert content["config"]["options"]["seed"] == 3
    moved = run("sample", "--config", "run.toml", "--method", "smc", "--checkpoint", "b", "--json")
    assert "stop_early" in moved.output  # which SMC does not have
    (folder / "run.toml").write_text(CONFIG.partition("[")[0])
    content = json.loads(
        run("sample", "--config", "run.toml", "--method", "gf-svgd", "--checkpoint", "b", "--json").stdout
    )
    assert content["log_evidence"] is None  # JSON has no NaN


EVIL = "red\x1b[31m\x1b]0;title\x07\x9b2J\u202e"


def test_no_escape_of_a_name_or_a_message_reaches_a_terminal(folder):
    (folder / "evil.py").write_text(
        f"import steinbox as sb\ninitial = sb.Gaussian([0.0], std=1.0)\nevil = {EVIL!r}\n"
        "names, units = [evil], {evil: evil}\n"
        "def f(x):\n    if x[0] > 1.5:\n        raise ValueError(evil)\n    return -x @ x\n"
        "def broken(x):\n    raise ValueError(evil)\n"
    )
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "NO_COLOR": "1"}
    settings = "--max-evals 300 --particles 20 --seed 0 --max-failure-rate 1"
    sample = ("sample", "evil.py:f", *settings.split())
    commands = [
        sample,
        ("sample", "evil.py:broken"),
        ("summary", "run.npz"),
        ("diagnose", "run.npz"),
        ("compare", "run.npz", "run.npz"),
        ("summary", EVIL),
        (*sample, "--json"),
    ]
    code = (
        "import json, sys\nfrom steinbox.cli import app\n"
        "for command in json.loads(sys.argv[1]):\n    try: app(command)\n    except SystemExit: pass\n"
    )
    shown = on_a_terminal([sys.executable, "-c", code, json.dumps(commands)], environment)
    assert shown.count(b"\\x1b[31m") >= 5
    for piece in (b"\x1b[31m", b"\x1b]0;", b"\x07", b"\xc2\x9b", b"\x9b2J", "\u202e".encode()):
        assert piece not in shown


def on_a_terminal(command, environment):
    """All that a command writes, to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # it has ended
            break
        if not chunk:
            break
        shown += chunk
    process.wait()
    os.close(ours)
    return shown


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("steinbox re", {"resume", "report", "reproduce"}),
        ("steinbox sample --method a", {"adaptive", "annealed-gf-svgd", "annealed-svgd", "ais", "adaptive-metropolis"}),
        ("steinbox bench --method khm", {"khmc"}),
        ("steinbox plot --kind co", {"corner", "coverage"}),
        ("steinbox reproduce gp", {"gp-glass", "gp-glass-laplace", "gp-susy", "gp-susy-laplace"}),
        ("steinbox sample --max-", {"--max-evals", "--max-seconds", "--max-failure-rate"}),
    ],
)
def test_a_shell_completes_values(words, values):
    number = str(len(words.split()) - 1)
    environment = {"_STEINBOX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": number}
    outcome = CliRunner().invoke(app, [], env=environment, prog_name="steinbox")
    assert set(outcome.output.split()) == values


def test_completion_can_be_shown_and_installed():
    assert {"--install-completion", "--show-completion"} <= set(run("--help").output.split())
    environment = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    code = "from steinbox.cli import app; app(prog_name='steinbox')"
    command = [sys.executable, "-c", code, "--show-completion", "bash"]
    outcome = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "_STEINBOX_COMPLETE=complete_bash" in outcome.stdout


def test_a_live_view_by_option(folder):
    outcome = run("sample", "--config", "run.toml", "--live")
    assert outcome.exit_code == 0
    assert "Live view: http://127.0.0.1:" in outcome.output
