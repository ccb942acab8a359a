"""Size and power of the gradient-free goodness-of-fit test; slow."""

import numpy as np
import pytest
from scipy.stats import binom, kstest

import steinbox as sb

pytestmark = pytest.mark.slow

MIXTURE = sb.GaussianMixture(
    [sb.Gaussian(mean, std=1.0) for mean in np.random.default_rng(0).uniform(-2, 2, size=(3, 5))]
)
TWO_MODES = sb.GaussianMixture([sb.Gaussian([-1.5, 0.0], std=1.0), sb.Gaussian([1.5, 0.0], std=1.0)])
TARGETS = {"gaussian": sb.paper.targets.paper_gaussian(), "mixture": MIXTURE, "banana": sb.targets.Banana()}
NUM_DRAWS, LEVEL = 300, 0.05


def p_values(target, draw, num_draws, **settings):
    values = []
    for seed in range(num_draws):
        x = draw(500, np.random.default_rng(seed))
        values.append(sb.goodness_of_fit(x, target.log_prob, num_bootstrap=300, rng=seed, **settings).p_value)
    return np.array(values)


@pytest.mark.parametrize("name", TARGETS)
def test_the_size_is_right_and_p_values_look_uniform(name):
    target = TARGETS[name]
    values = p_values(target, target.sample, NUM_DRAWS)
    low, high = binom.interval(0.99, NUM_DRAWS, LEVEL)
    assert low <= (values <= LEVEL).sum() <= high
    assert kstest(values, "uniform").pvalue > 0.001


def test_the_size_check_sees_a_test_that_lost_its_weights(monkeypatch):
    """With a fitted Gaussian for the mixture and ρ/p forced to one, far too many good samples are rejected."""
    monkeypatch.setattr(
        "steinbox.diagnostics.stein_sample.normalize", lambda values: np.full(len(values), 1 / len(values))
    )
    values = p_values(MIXTURE, MIXTURE.sample, 100, surrogate=sb.surrogates.FittedGaussian(inflation=1.5))
    assert (values <= LEVEL).mean() > 0.5


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("change", ["shifted", "wide", "narrow"])
def test_it_rejects_what_the_classical_test_rejects(name, change):
    target = TARGETS[name]

    def draw(n, rng):
        x = target.sample(n, rng)
        if change == "shifted":
            return x + np.eye(x.shape[1])[0] * 0.3 * np.sqrt(target.cov[0, 0])
        return target.mean + np.sqrt(1.5 if change == "wide" else 0.7) * (x - target.mean)

    assert (p_values(target, draw, 40, score=target.score) <= LEVEL).mean() > 0.95
    assert (p_values(target, draw, 40) <= LEVEL).mean() > 0.95


def test_it_sees_a_missing_mode_that_is_not_far():
    values = p_values(TWO_MODES, TWO_MODES.components[0].sample, 40)
    assert (values <= LEVEL).all()
