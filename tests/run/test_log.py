"""What a run tells ``logging``."""

import logging

import numpy as np
import pytest

import steinbox as sb


@pytest.fixture
def records(caplog):
    caplog.set_level(logging.INFO, logger="steinbox")
    return lambda: [(record.name, record.levelname, record.getMessage()) for record in caplog.records]


def run(log_prob=lambda x: -0.5 * float(x @ x), **settings):
    settings = {"max_evals": 400, "num_particles": 20, "seed": 3} | settings
    return sb.sample(log_prob, sb.Gaussian([0.0, 0.0], std=2.0), **settings)


def test_start_and_end(records):
    result = run()
    assert records() == [
        (
            "steinbox",
            "INFO",
            "AdaptiveImportanceSampling starts: 2 parameters, 20 particles, at most 400 evaluations, seed 3",
        ),
        ("steinbox", "INFO", f"AdaptiveImportanceSampling ends after 400 evaluations: {result.status}"),
    ]


def test_checkpoints_and_a_run_that_is_resumed(records, tmp_path):
    path = tmp_path / "run.ckpt"
    run(checkpoint=path)
    num_before = len(records())
    assert ("steinbox", "INFO", f"checkpoint written to {path}") in records()
    run(checkpoint=path, max_evals=600)
    assert records()[num_before][2].startswith("AdaptiveImportanceSampling resumes after 400 evaluations: 2 parameters")


def test_warnings_are_those_of_the_result(records):
    result = run(lambda x: np.nan if x[0] > 1 else -0.5 * float(x @ x), max_failure_rate=1.0, max_evals=30)
    assert result.warnings
    assert [message for _, level, message in records() if level == "WARNING"] == list(result.warnings)
    assert f"{result.num_failures} of them failed" in "".join(message for *_, message in records())


def test_nothing_is_printed_by_itself(capfd):
    run(max_evals=30)
    assert capfd.readouterr() == ("", "")
