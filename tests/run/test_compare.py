"""Several runs side by side."""

import dataclasses

import numpy as np
import pytest

import steinbox as sb

TARGET = sb.targets.separated_modes(2)


@pytest.fixture(scope="module")
def runs():
    settings = {"vectorized": True, "max_evals": 3_000, "num_particles": 100, "names": ["a", "b"]}
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
    assert "The 3 runs agree. What all of them missed, none can show." in str(comparison)
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


def test_evidence_that_is_not_estimated_is_no_disagreement(runs):
    assert sb.compare([dataclasses.replace(runs[0], log_evidence=np.nan), runs[1]]).agrees


def test_one_run_or_other_parameters_are_refused_in_words(runs):
    with pytest.raises(ValueError, match="expected at least two results of the same parameters"):
        sb.compare(runs[:1])
    with pytest.raises(ValueError, match="expected at least two results of the same parameters"):
        sb.compare([runs[0], dataclasses.replace(runs[1], names=("c", "d"))])
