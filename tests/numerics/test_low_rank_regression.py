"""The regression of many noisy values on few features, against dense Gaussian conditioning."""

import numpy as np
import pytest
from scipy import stats

from steinbox.numerics.low_rank_regression import LowRankRegression, nystroem_features

RNG = np.random.default_rng(0)
FEATURES = RNG.standard_normal((30, 5))
MISFIT = RNG.uniform(0.1, 2.0, 30)
NOISE = 0.7
VALUES = 3 * RNG.standard_normal(30)
REGRESSION = LowRankRegression(FEATURES, VALUES, NOISE, MISFIT)
PRIOR = FEATURES @ FEATURES.T + np.diag(MISFIT**2)  # the covariance of f
TOTAL = PRIOR + NOISE**2 * np.eye(30)  # that of the values


def test_the_mean_is_that_of_the_values_given_the_noise():
    np.testing.assert_allclose(REGRESSION.mean, PRIOR @ np.linalg.solve(TOTAL, VALUES), rtol=1e-6)


def test_the_likelihood_is_that_of_a_normal_distribution():
    dense = stats.multivariate_normal(np.zeros(30), TOTAL).logpdf(VALUES) + 15 * np.log(2 * np.pi)
    assert REGRESSION.log_likelihood == pytest.approx(dense, rel=1e-6)


def test_the_variance_of_a_weighted_sum_is_that_of_the_posterior():
    weights = RNG.uniform(size=30)
    posterior = PRIOR - PRIOR @ np.linalg.solve(TOTAL, PRIOR)
    assert REGRESSION.variance_of_mean(weights) == pytest.approx(weights @ posterior @ weights, rel=1e-6)


def test_what_no_feature_explains_keeps_its_share_of_a_value():
    alone = LowRankRegression(np.zeros((30, 1)), VALUES, NOISE, MISFIT)
    np.testing.assert_allclose(alone.mean, MISFIT**2 / (MISFIT**2 + NOISE**2) * VALUES)
    np.testing.assert_allclose(alone.own_share, MISFIT**2 / (MISFIT**2 + NOISE**2))


def test_few_centers_span_a_smooth_kernel_everywhere_near():
    z = RNG.standard_normal((200, 2))
    features = nystroem_features(z, z[:40], bandwidth=20.0)
    exact = np.exp(-((z[:, None] - z) ** 2).sum(axis=2) / 20.0)
    assert features.shape == (200, 40)
    assert np.abs(features @ features.T - exact).max() < 1e-3


def test_predictions_elsewhere_are_those_of_the_posterior():
    new = RNG.standard_normal((4, 5))
    cross = new @ FEATURES.T
    np.testing.assert_allclose(REGRESSION.predict(new), cross @ np.linalg.solve(TOTAL, VALUES), rtol=1e-6)
    deviations = REGRESSION.deviations(new)
    posterior = new @ new.T - cross @ np.linalg.solve(TOTAL, cross.T)
    np.testing.assert_allclose(deviations.T @ deviations, posterior, rtol=1e-5, atol=1e-8)
