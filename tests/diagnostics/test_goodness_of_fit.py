"""The test of fit: its parts, its messages, and its size and power at a glance."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.diagnostics.bootstrap import estimate_autocorrelation_time, random_signs
from steinbox.numerics.kernels import IMQ
from steinbox.numerics.pairwise import SteinKernel

TARGET = sb.Gaussian([0.0, 0.0], std=1.0)


def autoregressive(num_steps, correlation, rng, dimension=2):
    """A stationary chain with standard normal margins."""
    noise = rng.standard_normal((num_steps, dimension))
    chain = noise.copy()
    for t in range(1, num_steps):
        chain[t] = correlation * chain[t - 1] + np.sqrt(1 - correlation**2) * noise[t]
    return chain


def test_the_p_value_is_that_of_the_dense_bootstrap(rng):
    x = TARGET.sample(40, rng) + 0.2
    test = sb.goodness_of_fit(x, None, score=TARGET.score, num_bootstrap=200, rng=5, kernel=IMQ())
    affine = sb.coordinates.Whitened().fit(x)
    z = affine.forward(x)
    matrix = SteinKernel(z, affine.push_score(-x), np.full(40, 1 / 40), IMQ(), sb.bandwidth.Median()(z)).matrix()
    signs = random_signs(40, 200, 1.0, np.random.default_rng(5)).astype(float)
    chance = np.array([s @ matrix @ s for s in signs.T])
    assert test.p_value == (1 + (chance >= matrix.sum()).sum()) / 201
    assert test.statistic == pytest.approx(40 * (matrix.sum() - np.trace(matrix)) * 40 / 39)
    assert test.effective_sample_size == pytest.approx(40)


def test_independent_signs_are_balanced_and_uncorrelated(rng):
    signs = random_signs(2000, 50, 1.0, rng).astype(float)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    assert abs((signs[1:] * signs[:-1]).mean()) < 4 / np.sqrt(signs.size)


def test_markov_signs_have_the_correlation_they_claim(rng):
    signs = random_signs(20_000, 50, 5.0, rng).astype(float)
    for lag in (1, 10, 40):
        assert (signs[lag:] * signs[:-lag]).mean() == pytest.approx(np.exp(-lag / 20), abs=0.03)
    assert abs(signs.mean()) < 0.03


@pytest.mark.parametrize(("correlation", "time"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_the_autocorrelation_time_is_found(correlation, time, rng):
    chain = autoregressive(100_000, correlation, rng, dimension=1)
    assert estimate_autocorrelation_time(chain) == pytest.approx(time, rel=0.15)


def rejections(draw, num_repetitions, log_prob=TARGET.log_prob, **settings):
    p_values = []
    for seed in range(num_repetitions):
        x = draw(np.random.default_rng(seed))
        p_values.append(sb.goodness_of_fit(x, log_prob, num_bootstrap=200, rng=seed, **settings).p_value)
    return np.mean(np.array(p_values) <= 0.05)


def test_size_and_power_at_a_glance():
    """The 99.9% band of a Binomial(150, 0.05) ends at 18; tests/statistics has the full check."""
    assert rejections(lambda rng: TARGET.sample(100, rng), 150) <= 18 / 150
    assert rejections(lambda rng: TARGET.sample(100, rng) + 0.4, 30) > 0.9
    assert rejections(lambda rng: 1.6 * TARGET.sample(100, rng), 30) > 0.9
    assert rejections(lambda rng: 0.6 * TARGET.sample(100, rng), 30) > 0.9


def test_a_markov_chain_needs_the_markov_bootstrap():
    def chain(rng):
        return autoregressive(1000, 0.8, rng)

    settings = {"surrogate": TARGET}
    assert rejections(chain, 20, **settings) > 0.5
    assert rejections(chain, 40, autocorrelation_time="auto", **settings) < 0.2
    shifted = rejections(lambda rng: chain(rng) + 0.8, 10, autocorrelation_time=9.0, **settings)
    assert shifted > 0.9


def test_importance_weights_are_part_of_the_sample():
    proposal = sb.Gaussian([0.4, 0.0], std=1.5)

    def weighted(seed):
        x = proposal.sample(300, np.random.default_rng(seed))
        weights = np.exp(TARGET.log_prob(x) - proposal.log_prob(x))
        return sb.goodness_of_fit(x, TARGET.log_prob, weights=weights, num_bootstrap=200, rng=seed).rejects()

    assert np.mean([weighted(seed) for seed in range(60)]) < 0.2
    assert rejections(lambda rng: proposal.sample(300, rng), 10) == 1


def test_one_point_outside_the_support_is_enough(rng):
    x = TARGET.sample(50, rng)
    values = TARGET.log_prob(x)
    values[4] = -np.inf
    test = sb.goodness_of_fit(x, values, rng=0)
    assert (test.p_value, test.num_outside) == (0.0, 1)
    assert str(test).startswith("The sample does not come from the target. Warning: 1 of 50 points lie outside")


def test_the_outcome_is_a_sentence(rng):
    good = sb.goodness_of_fit(TARGET.sample(100, rng), TARGET.log_prob, rng=0)
    assert str(good).startswith("The test finds no difference from the target (p = ")
    assert not good.rejects()
    bad = sb.goodness_of_fit(TARGET.sample(100, rng) + 1, TARGET.log_prob, rng=0)
    assert str(bad).startswith("The sample is unlikely to come from the target (p = 0.001)")
    assert bad.rejects()
    assert bad.rejects(level=1e-4) is False


def test_the_same_seed_gives_the_same_answer(rng):
    x = TARGET.sample(60, rng)
    assert sb.goodness_of_fit(x, TARGET.log_prob, rng=3) == sb.goodness_of_fit(x, TARGET.log_prob, rng=3)


def test_it_warns_of_a_chain_that_is_assumed_independent(rng):
    test = sb.goodness_of_fit(autoregressive(300, 0.9, rng), TARGET.log_prob, rng=0)
    assert "give autocorrelation_time='auto'" in test.warnings[0]
    test = sb.goodness_of_fit(autoregressive(300, 0.9, rng), TARGET.log_prob, autocorrelation_time=20, rng=0)
    assert test.warnings == ("300 points at an autocorrelation time of 20 are too few for a reliable test.",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_bootstrap": 0}, "num_bootstrap to be a whole number of at least 1, got 0"),
        ({"autocorrelation_time": 0.5}, "if it is not 'auto', to be a finite number of at least 1, got 0.5"),
        ({"autocorrelation_time": "much"}, "a finite number of at least 1, got 'much'"),
        ({"autocorrelation_time": np.inf}, "a finite number of at least 1, got inf"),
        ({"num_bootstrap": True}, "whole number of at least 1, got True"),
        ({"score": TARGET.score, "surrogate": TARGET}, "a score or a surrogate, got both"),
    ],
)
def test_nonsense_is_refused_in_words(settings, message, rng):
    with pytest.raises(ValueError, match=message):
        sb.goodness_of_fit(TARGET.sample(20, rng), TARGET.log_prob, **settings)
    with pytest.raises(ValueError, match="expected log_prob or score, got neither"):
        sb.goodness_of_fit(TARGET.sample(20, rng), None)


def test_independent_points_are_not_called_a_chain():
    def warnings(seed, n, d):
        y = np.random.default_rng(seed).standard_normal((n, d))
        return sb.goodness_of_fit(y, score=-y, num_bootstrap=1, rng=0).warnings

    assert sum(bool(warnings(seed, 50, 25)) for seed in range(40)) <= 1
    assert sum(bool(warnings(seed, 300, 2)) for seed in range(40)) <= 1


def test_it_warns_of_weights_with_a_small_effective_sample_size(rng):
    x = TARGET.sample(200, rng)
    test = sb.goodness_of_fit(x, TARGET.log_prob, weights=rng.random(200) ** 60, rng=0)
    assert test.warnings[0].startswith("The weights of 200 points have an effective sample size of ")
    assert sb.goodness_of_fit(x, score=TARGET.score, weights=rng.random(200) ** 60, rng=0).warnings
    with pytest.raises(ValueError, match="one point carries all the weight"):
        sb.goodness_of_fit(x, TARGET.log_prob, weights=np.r_[1.0, np.full(199, 1e-30)], rng=0)


def test_parameters_may_have_any_units(rng):
    x = TARGET.sample(200, rng)
    units = np.array([1e-9, 1.0])
    plain = sb.goodness_of_fit(x, TARGET.log_prob(x), rng=0)
    scaled = sb.goodness_of_fit(x * units, TARGET.log_prob(x), rng=0)
    assert scaled.p_value == pytest.approx(plain.p_value, abs=0.01)
    assert scaled.effective_sample_size == pytest.approx(plain.effective_sample_size, rel=0.01)
    assert sb.ksd(x * units, -x / units) == pytest.approx(float(sb.ksd(x, -x)), rel=1e-6)


def test_copies_are_refused_unless_it_is_a_chain(rng):
    x = np.repeat(TARGET.sample(100, rng), 2, axis=0)
    with pytest.raises(ValueError, match="100 of 200 points are copies of others"):
        sb.goodness_of_fit(x, TARGET.log_prob)
    assert sb.goodness_of_fit(x, TARGET.log_prob, autocorrelation_time="auto", rng=0).autocorrelation_time > 1.5
