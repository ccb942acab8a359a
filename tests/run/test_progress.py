"""The progress bar: on a terminal or when asked, silent otherwise."""

import numpy as np

import steinbox as sb


def run(**settings):
    return sb.sample(lambda x: -float(x @ x), sb.Gaussian([0, 0], std=1), num_particles=10, max_evals=100, **settings)


def test_silent_when_the_output_is_no_terminal(capfd):
    run()
    run(progress=False)
    assert capfd.readouterr() == ("", "")


def test_shown_when_asked(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    run(progress=True)
    shown = capfd.readouterr().err
    for part in ("100 evaluations", "surrogate refinement", "ess "):
        assert part in shown


def test_the_bar_changes_nothing():
    np.testing.assert_array_equal(run(progress=True, seed=1).particles, run(progress=False, seed=1).particles)
