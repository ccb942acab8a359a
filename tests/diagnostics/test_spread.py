"""Stein's identity with a linear function, and what it sees where the test of fit does not."""

import re

import numpy as np
import pytest

import steinbox as sb
from steinbox.diagnostics.diagnose import diagnose
from steinbox.diagnostics.spread import mean_spread, stein_spread

TARGETS = [sb.targets.Banana(), sb.targets.Funnel(3), sb.targets.separated_modes(2)]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: type(target).__name__)
def test_it_is_one_under_the_target(target, rng):
    x = target.sample(100_000, rng)
    ratio, error = stein_spread(x, np.full(len(x), 1e-5), target.score(x))
    assert (np.abs(ratio - 1) < 4 * error).all()
    assert error.max() < 0.1


def test_it_is_one_with_a_surrogate_and_its_weights(rng):
    target, surrogate = sb.Gaussian([0.0, 1.0], std=1.0), sb.Gaussian([0.3, 0.8], std=0.8)
    x = target.sample(100_000, rng)
    weights = np.exp(surrogate.log_prob(x) - target.log_prob(x))
    ratio, error = stein_spread(x, weights / weights.sum(), surrogate.score(x))
    assert (np.abs(ratio - 1) < 4 * error).all()


def test_of_a_gaussian_it_is_the_ratio_of_the_variances(rng):
    x = np.array([0.5, 2.0]) * rng.standard_normal((4000, 2))
    ratio, error = stein_spread(x, np.full(4000, 1 / 4000), -x)
    np.testing.assert_allclose(ratio, x.var(axis=0))
    assert mean_spread(x, np.full(4000, 1 / 4000), -x)[0] == pytest.approx(x.var(axis=0).mean())
    assert (np.abs(ratio - [0.25, 4.0]) < 4 * error).all()


def test_the_mean_does_not_depend_on_linear_coordinates_and_has_the_error_of_draws(rng):
    """Of a Gaussian it is a chi-squared variable over d, whatever the correlations."""
    target = sb.targets.autoregressive(20)
    outcomes = []
    for _ in range(300):
        x = target.sample(50, rng)
        outcomes.append(mean_spread(x, np.full(50, 1 / 50), target.score(x)))
    ratios, errors = np.array(outcomes).T
    assert ratios.mean() == pytest.approx(1 - 1 / 50, abs=0.01)  # the mean of 50 draws is closer to them
    assert np.sqrt((errors**2).mean()) == pytest.approx(ratios.std(), rel=0.15)


def test_points_that_are_even_and_too_close_together():
    """A standard deviation that is 25% low, of points that were chosen: the test sees nothing, and says so."""
    target = sb.Gaussian([0.0], std=1.0)
    many = 0.75 * target.sample(4000, np.random.default_rng(0))
    x = many[np.unique(sb.select(many, np.ones(4000), 100, log_prob=target.log_prob(many)))]
    diagnostics = diagnose(x, target.log_prob(x), np.full(len(x), 1 / len(x)), rng=0)
    assert diagnostics.goodness_of_fit.p_value > 0.3
    assert diagnostics.spread[0] == pytest.approx(x.var(), abs=0.01)
    assert x.var() < 0.65
    assert "Spread by Stein's identity (1 if it is right, less if it is too small): 0.64" in str(diagnostics)
    assert "This contradicts the test: the points are too narrow: 0.64 on average over" in str(diagnostics)
    assert "<p>" in diagnostics._repr_html_()


def test_a_test_of_even_points_says_what_it_cannot_see():
    target = sb.Gaussian(np.zeros(5), std=1.0)
    many = 0.9 * target.sample(4000, np.random.default_rng(0))
    x = many[np.unique(sb.select(many, np.ones(4000), 100, log_prob=target.log_prob(many)))]
    test = sb.goodness_of_fit(x, target.log_prob, rng=0)
    assert test.p_value > 0.95
    assert "which does not prove that there is none. It relies on the surrogate LeaveOneOut, cannot see modes" in str(
        test
    )
    assert "are spaced more evenly than independent draws, so the test has little power and would miss" in str(test)
    by_score = sb.goodness_of_fit(x, score=target.score, rng=0)
    assert "It relies on the score given, cannot see modes without points" in str(by_score)


def test_one_coordinate_that_is_off_contradicts_the_test_and_exact_draws_do_not(rng):
    x = rng.standard_normal((100, 6))
    equal, normal = np.full(100, 1 / 100), sb.Gaussian(np.zeros(6), std=1.0)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    assert diagnose(x, normal.log_prob(x), equal, rng=0).spread_contradiction is None
    x[:, 2] *= 1.3
    x[:, 4] *= 0.55  # on average over coordinates the variance is right
    off = diagnose(x, normal.log_prob(x), equal, rng=0)
    assert off.mean_spread == pytest.approx((x.var(axis=0)).mean(), abs=0.02)
    assert re.match(r"the points are too narrow: 0.3\d for coordinate 4, ", off.spread_contradiction)


@pytest.mark.parametrize("name", ["Banana", "Ring", "StudentT"])
def test_exact_draws_seldom_contradict_it(name):
    """At a level of a twentieth, twice: for the mean and for the worst coordinate."""
    target, found = getattr(sb.targets, name)(), []
    for seed in range(10):
        x = target.sample(100, np.random.default_rng(seed))
        found.append(diagnose(x, target.log_prob(x), np.full(100, 1 / 100), rng=0).spread_contradiction)
    assert sum(each is not None for each in found) <= 3
