"""The Gaussian from a quadratic fitted to log-densities."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.samplers.adaptive.proposers.quadratic_fit import _fit_quadratic, fit_gaussian


def test_a_quadratic_log_density_is_found_from_afar(rng):
    target = sb.Gaussian([3.0, -2.0, 1.0], cov=np.diag([0.1, 1.0, 0.5]))
    points = 2 * rng.normal(size=(400, 3))
    log_prob = target.log_prob(points)
    jump, _ = fit_gaussian(points, log_prob, log_prob)
    np.testing.assert_allclose(jump.mean, target.mean, atol=0.05)
    np.testing.assert_allclose(jump.cov, 1.15 * target.cov, atol=0.1)
    assert fit_gaussian(points[:12], log_prob[:12], log_prob[:12])[0] is None
    log_prob[:100] = -np.inf
    np.testing.assert_allclose(fit_gaussian(points, log_prob, log_prob)[0].mean, target.mean, atol=0.05)


@pytest.mark.parametrize(("dimension", "num_points"), [(1, 20), (3, 100), (20, 1500), (36, 3000)])
def test_the_quadratic_is_that_of_the_normal_equations(rng, dimension, num_points):
    z, weights = rng.standard_normal((num_points, dimension)), rng.dirichlet(np.ones(num_points))
    log_prob = -0.5 * (z**2).sum(axis=1) - 0.1 * (z**4).sum(axis=1) + np.sin(z[:, 0]) + z[:, 0] * z[:, -1]
    first, second = np.triu_indices(dimension)
    features = np.column_stack([np.ones(num_points), z, z[:, first] * z[:, second]])
    ridge = np.diag(np.repeat([1e-8, 1e-4, 1e-3], [1, dimension, len(first)]))
    moments, values = (features.T * weights) @ features + ridge, log_prob - weights @ log_prob
    coefficients = np.linalg.solve(moments, (features.T * weights) @ values)
    slope, curvature = _fit_quadratic(z, log_prob, weights)
    np.testing.assert_allclose(slope, coefficients[1 : 1 + dimension], atol=1e-5)
    expected = np.zeros((dimension, dimension))
    expected[first, second] = coefficients[1 + dimension :]
    np.testing.assert_allclose(curvature, -(expected + expected.T), atol=1e-5)


def test_a_chain_is_found_with_fewer_values_than_coefficients(rng):
    target = sb.targets.autoregressive(50, 0.8)  # 1,326 coefficients
    points = 2 * rng.normal(size=(1300, 50))
    log_prob = target.log_prob(points)
    gaussian, pairs = fit_gaussian(points, log_prob, log_prob / 100)
    np.testing.assert_allclose(gaussian.cov, 1.15 * target.cov, atol=0.05)
    neighbors = np.column_stack([np.arange(49), np.arange(1, 50)])
    np.testing.assert_array_equal(pairs, neighbors)
    few = slice(0, 500)  # not enough to find them, but to fit those that are known
    again, _ = fit_gaussian(points[few], log_prob[few], log_prob[few] / 100, neighbors)
    np.testing.assert_allclose(again.cov, 1.15 * target.cov, atol=0.05)
    unknown, _ = fit_gaussian(points[few], log_prob[few], log_prob[few] / 100)
    assert np.abs(unknown.cov - 1.15 * target.cov).max() > 0.2


def test_where_a_full_quadratic_is_near_there_is_no_sparse_one(rng):
    points = rng.normal(size=(400, 30))  # 496 coefficients
    log_prob = sb.targets.autoregressive(30, 0.8).log_prob(points)
    assert fit_gaussian(points, log_prob, log_prob / 100)[0] is None
