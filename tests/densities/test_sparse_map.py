"""Affine maps with significant slopes only."""

import numpy as np

import steinbox as sb
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.sparse_map import _significant, fit_sparse_map
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.pullback import Pullback


def equal(points):
    return WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))


def test_significance_is_that_of_the_regression_on_all_before(rng):
    dimension, num_points = 12, 60
    z = rng.normal(size=(num_points, dimension)) @ (np.eye(dimension) + 0.4 * rng.normal(size=(dimension, dimension)))
    z -= z.mean(axis=0)
    threshold = np.sqrt(2 * np.log(dimension * (dimension - 1) // 2))
    expected = np.zeros((dimension, dimension), dtype=bool)
    for k in range(1, dimension):
        slopes, rest, *_ = np.linalg.lstsq(z[:, :k], z[:, k], rcond=None)
        errors = np.sqrt(rest[0] / (num_points - k) * np.diag(np.linalg.inv(z[:, :k].T @ z[:, :k])))
        expected[:k, k] = np.abs(slopes) > threshold * errors
    assert 5 < expected.sum() < 60
    np.testing.assert_array_equal(_significant(z.T @ z / num_points, num_points), expected)


def test_independent_coordinates_have_hardly_any_slopes(rng):
    assert (fit_sparse_map(equal(rng.normal(size=(400, 80)))).linear[1:] != 0).sum() <= 5  # of 3,160


def test_a_chain_is_nearly_the_gaussian_it_came_from(rng):
    target = sb.targets.autoregressive(100)
    density = Pullback(
        fit_sparse_map(equal(target.sample(1000, rng))), GaussianMixture([sb.Gaussian(np.zeros(100), std=1)])
    )
    points = target.sample(500, rng)
    divergence = (target.log_prob(points) - density.log_prob(points)).mean()
    assert 0 < divergence < 0.4  # three parameters for every coordinate cost half a nat per 1,000 points: 0.15
