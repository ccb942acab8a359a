"""What a result says about itself."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import steinbox as sb

TARGET = sb.targets.Banana()


@pytest.fixture(scope="module")
def result():
    settings = {"method": sb.AnnealedGFSVGD(num_iterations=30), "num_particles": 60, "vectorized": True, "seed": 0}
    return sb.sample(TARGET.log_prob, sb.Gaussian([0, 0], std=3), **settings)


def with_particles(result, x, weights=None):
    weights = np.full(len(x), 1 / len(x)) if weights is None else weights
    return replace(result, particles=x, log_prob=TARGET.log_prob(x), weights=weights)


def test_it_is_the_tools_asked_together(result, rng):
    x = TARGET.sample(150, rng)
    diagnostics = with_particles(result, x).diagnostics()
    assert diagnostics.num_points == 150
    assert diagnostics.gf_ksd == pytest.approx(float(sb.gf_ksd(x, TARGET.log_prob)))
    assert diagnostics.effective_sample_size == pytest.approx(150)
    assert diagnostics.goodness_of_fit == sb.goodness_of_fit(x, TARGET.log_prob, rng=0)
    assert str(diagnostics).startswith(
        "150 points with an effective sample size of 150; gradient-free Stein discrepancy 0."
    )
    assert "no difference from the target" in str(diagnostics)


def test_a_bad_sample_is_called_bad(result, rng):
    diagnostics = with_particles(result, TARGET.sample(150, rng) + np.array([0.0, 0.5])).diagnostics()
    assert diagnostics.goodness_of_fit.rejects(0.01)
    assert "unlikely to come from the target" in str(diagnostics)


def test_any_run_has_diagnostics_without_an_evaluation(result):
    diagnostics = result.diagnostics()
    assert diagnostics.num_points == 60
    assert 0 < diagnostics.goodness_of_fit.p_value <= 1


def test_weights_and_copies_count(result, rng):
    x = TARGET.sample(80, rng)
    weights = rng.random(80)
    weights[:5] = 0
    weights /= weights.sum()
    once = with_particles(result, x, weights).diagnostics()
    assert once.num_points == 75
    assert once.effective_sample_size == pytest.approx(1 / (weights @ weights))
    doubled = with_particles(result, np.repeat(x, 2, axis=0), np.repeat(weights, 2) / 2).diagnostics()
    assert doubled.gf_ksd == pytest.approx(float(once.gf_ksd), rel=1e-6)
    assert doubled.effective_sample_size == pytest.approx(once.effective_sample_size)


def test_of_very_many_points_a_part_is_looked_at(result, rng, monkeypatch):
    monkeypatch.setattr("steinbox.diagnostics.diagnose._MAX_POINTS", 50)
    x = TARGET.sample(120, rng)
    assert with_particles(result, x).diagnostics().num_points == 50
    weights = np.full(120, 0.1 / 119)
    weights[7] = 0.9
    heavy = with_particles(result, x, weights).diagnostics()
    assert heavy.effective_sample_size == pytest.approx(1 / (weights @ weights))
    assert heavy.num_points < 20


def test_it_speaks_of_particles(result, rng):
    x = TARGET.sample(60, rng)
    x = x[np.argsort(x[:, 0])]  # an order that means nothing
    assert with_particles(result, x).diagnostics().warnings == ()
    weights = np.where(np.arange(60) < 10, 0.0, 1 / 50)
    assert "50 points with an effective sample size of 50, 10 without weight left out" in str(
        with_particles(result, x, weights).diagnostics()
    )
    with pytest.raises(ValueError, match="at least 3 different particles of positive weight to diagnose, got 1"):
        with_particles(result, np.ones((20, 2))).diagnostics()


@pytest.mark.parametrize(
    "tool", [sb.mmd, sb.ksd, sb.gf_ksd, sb.goodness_of_fit, sb.black_box_weights, sb.thin, sb.select]
)
def test_one_name_for_one_thing_and_options_by_keyword(tool):
    parameters = inspect.signature(tool).parameters
    assert next(iter(parameters)) == "points"
    assert not {"x", "y", "log_target", "seed"} & set(parameters)
    options = {"surrogate", "weights", "rng", "kernel", "bandwidth", "coordinates"} - (
        {"weights"} if tool is sb.select else set()
    )
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in options & set(parameters))


@pytest.mark.parametrize("rng", [0, np.random.default_rng(0), None])
def test_randomness_comes_from_a_number_a_generator_or_nowhere(rng):
    points = np.random.default_rng(1).standard_normal((50, 2))
    assert 0 < sb.goodness_of_fit(points, -0.5 * (points**2).sum(axis=1), num_bootstrap=20, rng=rng).p_value <= 1
    assert len(sb.select(points, np.ones(50), 5, rng=rng)) == 5
