"""Several runs side by side."""

import dataclasses

import numpy as np
import pytest

import steinbox as sb
from steinbox import plotting
from steinbox.run.compare import _mode_shares

TARGET = sb.targets.separated_modes(2)


@pytest.fixture(scope="module")
def runs():
    settings = {"vectorized": True, "max_evals": 2_000, "num_particles": 100, "names": ["a", "b"]}
    return [sb.sample(TARGET.log_prob, sb.Gaussian([0, 0], std=5), seed=seed, **settings) for seed in range(3)]


def of_one_mode(result):
    """The same run, if it had seen one mode only."""
    direction = TARGET.components[0].mean - TARGET.components[1].mean
    inside, pool_inside = result.particles @ direction > 0, result.pool @ direction > 0
    pool_weights = result.pool_weights * pool_inside
    return dataclasses.replace(
        result,
        weights=inside / inside.sum(),
        pool_weights=pool_weights / pool_weights.sum(),
        log_evidence=result.log_evidence + np.log(pool_weights.sum()),
    )


def test_runs_that_agree(runs):
    comparison = sb.compare(runs)
    assert comparison.agrees
    assert "The 3 runs agree. This cannot reveal what all of them missed." in str(comparison)
    assert comparison.mode_shares.shape == (3, 2)
    assert comparison.mode_shares.sum(axis=1).min() > 0.95  # outliers are in no mode
    np.testing.assert_allclose(np.sort(comparison.mode_shares[0]), [0.3, 0.7], atol=0.05)
    assert comparison.mmd.max() < comparison.mmd_by_chance
    np.testing.assert_array_equal(comparison.mean[1], runs[1].mean)
    assert str(comparison).splitlines()[0].split() == [
        "run",
        "log",
        "evidence",
        "±",
        "a",
        "b",
        "mode",
        "1",
        "mode",
        "2",
    ]
    assert comparison._repr_html_().startswith("<table>")


def test_a_run_that_missed_a_mode(runs):
    comparison = sb.compare([runs[0], of_one_mode(runs[1])])
    words = " ".join(comparison.disagreements)
    assert "The log-evidences of runs 1 and 2 differ" in words
    assert "Runs 1 and 2 have means of a that differ by" in words
    assert "Runs 1 and 2 have standard deviations of a of" in words
    assert "The particles of runs 1 and 2 are farther apart than chance explains" in words
    assert "Run 2 has no particle in mode" in words
    assert not comparison.agrees


def test_the_picture_shows_evidence_parameters_and_modes(runs, tmp_path):
    pytest.importorskip("matplotlib", reason="the [plot] extra is not installed")
    comparison = sb.compare([runs[0], of_one_mode(runs[1])])
    figure = plotting.compare(comparison)
    evidence, parameters, modes = figure.axes
    assert [text.get_text() for text in parameters.get_yticklabels()] == ["a", "b"]
    heights = [[bar.get_height() for bar in container] for container in modes.containers]
    np.testing.assert_allclose(np.transpose(heights), comparison.mode_shares)
    drawn = [container.lines[0].get_ydata()[0] for container in evidence.containers]
    np.testing.assert_allclose(drawn, comparison.log_evidence)
    assert figure.get_suptitle().startswith("Run 2 has no particle in mode 2")
    assert "more." in figure.get_suptitle()
    figure.savefig(tmp_path / "comparison.png")


def test_the_picture_of_many_parameters_shows_those_that_differ(runs):
    pytest.importorskip("matplotlib", reason="the [plot] extra is not installed")
    comparison = sb.compare(runs)
    mean = np.zeros((3, 20))
    mean[1, 17] = 2.0
    names = tuple(f"x{k}" for k in range(20))
    many = dataclasses.replace(
        comparison, names=names, mean=mean, mean_error=mean, sd=np.ones((3, 20)), log_evidence=np.full(3, np.nan)
    )
    parameters, _ = plotting.compare(many).axes
    shown = [text.get_text() for text in parameters.get_yticklabels()]
    assert len(shown) == 12
    assert "x17" in shown


def test_evidence_that_is_not_estimated_is_no_disagreement(runs):
    assert sb.compare([dataclasses.replace(runs[0], log_evidence=np.nan), runs[1]]).agrees


def test_one_run_or_other_parameters_are_refused_in_words(runs):
    with pytest.raises(ValueError, match=r"two results of the same parameters, got 1 of \(a, b\); run"):
        sb.compare(runs[:1])
    with pytest.raises(ValueError, match=r"two results of the same parameters, got 2 of \(a, b\) and \(c, d\)"):
        sb.compare([runs[0], dataclasses.replace(runs[1], names=("c", "d"))])


@pytest.mark.parametrize("dimension", [5, 10])
def test_a_mode_that_one_run_lost_is_found_in_many_dimensions(dimension):
    target = sb.targets.separated_modes(dimension)
    mixing = np.random.default_rng(1).normal(size=(dimension, dimension)) * np.geomspace(0.01, 100, dimension)
    apart = target.components[0].mean - target.components[1].mean
    found = []
    for seed in range(3):
        both, one = (target.sample(200, np.random.default_rng([seed, k])) for k in range(2))
        one = one[one @ apart > 0]
        particles = [both @ mixing, one @ mixing]
        found.append(_mode_shares(particles, target.log_prob(np.concatenate([both, one]))))
    for shares in found:
        assert shares.shape == (2, 2)
        assert 0.2 < shares[0].min() < 0.4
        np.testing.assert_allclose(np.sort(shares[1]), [0, 1], atol=0.02)


def test_one_mode_in_many_dimensions_is_one():
    x = np.random.default_rng(0).normal(size=(400, 10))
    np.testing.assert_array_equal(_mode_shares([x[:200], x[200:]], -0.5 * (x**2).sum(axis=1)), [[1], [1]])
