"""Expectations and their errors, against simulation: an error is right if estimates scatter by it."""

import numpy as np
import pytest

from steinbox.run.expectations import Estimate, WeightedPoints

NUM_REPEATS, NUM_POINTS = 400, 1000
SCALES = np.array([1.5, 2.0])  # of the proposal; the target is standard normal


def draw(rng):
    """Draws of the proposal, with weights to the target."""
    x = SCALES * rng.standard_normal((NUM_POINTS, 2))
    log_weights = -0.5 * (x**2).sum(axis=1) + 0.5 * ((x / SCALES) ** 2).sum(axis=1)
    weights = np.exp(log_weights - log_weights.max())
    return WeightedPoints(x, weights / weights.sum())


ESTIMATES = {
    "mean": (lambda sample: sample.mean, np.zeros(2)),
    "cov": (lambda sample: sample.cov, np.eye(2)),
    "quantile": (lambda sample: sample.quantile([0.1, 0.5]), np.array([[-1.2816] * 2, [0.0] * 2])),
    "expectation": (lambda sample: sample.expectation(lambda x: x[:, 0] > 1), np.array(0.15866)),
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_error_is_the_scatter_of_the_estimates(name):
    estimate, truth = ESTIMATES[name]
    rng = np.random.default_rng(1)
    estimates = [estimate(draw(rng)) for _ in range(NUM_REPEATS)]
    values, errors = np.array([each.value for each in estimates]), np.array([each.error for each in estimates])
    scatter = values.std(axis=0)
    np.testing.assert_allclose(values.mean(axis=0), truth, atol=4 * scatter.max() / np.sqrt(NUM_REPEATS) + 0.01)
    # the scatter of 400 estimates is known to 3.5%, and the delta method is of first order
    np.testing.assert_allclose(np.sqrt((errors**2).mean(axis=0)), scatter, rtol=0.12)


def test_equal_weights_give_the_usual_errors(rng):
    x = rng.standard_normal((500, 1))
    sample = WeightedPoints(x, np.full(500, 1 / 500))
    assert sample.mean.error[0] == pytest.approx(x.std() / np.sqrt(500))
    squares = (x - x.mean()) ** 2
    assert sample.cov.error[0, 0] == pytest.approx(squares.std() / np.sqrt(500))


def test_quantiles_are_those_of_numpy(rng):
    x, weights = rng.standard_normal((60, 3)), rng.random(60)
    sample = WeightedPoints(x, weights / weights.sum())
    levels = np.array([0.0, 0.03, 0.5, 0.77, 1.0])
    theirs = np.quantile(x, levels, axis=0, weights=weights, method="inverted_cdf")
    np.testing.assert_array_equal(sample.quantile(levels).value, theirs)
    np.testing.assert_array_equal(sample.quantile(0.5).value, theirs[2])
    with pytest.raises(ValueError, match="between 0 and 1, got 1.2"):
        sample.quantile(1.2)


def test_copies_count_once(rng):
    x, weights = rng.standard_normal((20, 2)), rng.random(20)
    once = WeightedPoints.merge(x, weights)
    halves = WeightedPoints.merge(np.concatenate([x, x, x + 9]), np.concatenate([weights, weights, 0 * weights]))
    np.testing.assert_allclose(halves.mean.value, once.mean.value)
    np.testing.assert_allclose(halves.mean.error, once.mean.error)


def test_a_function_without_finite_values_is_refused_in_words(rng):
    sample = WeightedPoints(rng.standard_normal((5, 1)), np.full(5, 0.2))
    with pytest.raises(ValueError, match="expected finite values of the function, got nan at the point"):
        sample.expectation(lambda x: np.where(x[:, 0] == x[2, 0], np.nan, 0.0))
    with pytest.raises(ValueError, match="values at 5 points, got shape "):
        sample.expectation(lambda x: x.sum())


def test_an_estimate_in_words():
    assert str(Estimate(np.array([1.23456, 2.0]), np.array([0.0123, 0.1]))) == "[1.2346 2.    ] ± [0.01 0.1 ]"
