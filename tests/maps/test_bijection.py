"""Every map keeps the convention of ``steinbox.maps.bijection``; determinants and scores by finite differences."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.marginal_map import fit_marginal_map
from steinbox.densities.fitting.rotated_map import fit_rotated_map
from steinbox.densities.fitting.triangular_map import fit_triangular_map
from steinbox.maps.bijection import Composition, Identity
from steinbox.maps.bounds import as_bounds
from steinbox.maps.coordinates import Plain, Standardized, Whitened
from steinbox.maps.hierarchical import HierarchicalMap
from steinbox.numerics.independent_components import CONTRASTS

DIMENSION = 4
MIXING = np.random.default_rng(1).normal(size=(DIMENSION, DIMENSION)) + 2 * np.eye(DIMENSION)


def bananas(num_points, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([sb.targets.Banana().sample(num_points, rng) for _ in range(2)])


def equal(points):
    return WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))


SKEWED = np.log(np.random.default_rng(0).gamma(2.0, size=(500, DIMENSION)))
MAPS = {
    "identity": Identity(),
    "plain": Plain().fit(bananas(100)),
    "standardized": Standardized().fit(bananas(100)),
    "whitened": Whitened().fit(bananas(100) @ MIXING),
    "bounds": as_bounds([(0, 1), (2, None), (None, -1), None]),
    "straight": fit_triangular_map(equal(bananas(500) @ MIXING), curved=False),
    "bananas": fit_triangular_map(equal(bananas(500)), curved=True),
    "funnel": fit_triangular_map(equal(sb.targets.Funnel(4).sample(500, np.random.default_rng(0))), curved=True),
    "skewed": fit_marginal_map(equal(SKEWED @ MIXING), CONTRASTS["skewness"]),
    "heavy tails": fit_marginal_map(equal(np.random.default_rng(0).standard_t(3, size=(500, DIMENSION)))),
    "composed": Composition(fit_triangular_map(equal(bananas(500)), curved=True), fit_marginal_map(equal(SKEWED))),
    "hierarchy": HierarchicalMap(
        *map(np.array, ([2, 3], [0, -1], [0.0, 0.7], [1, 1], [1.0, -0.5], [0.2, -1.0], [1.5, 0.0], [-0.5, 0.3]))
    ),
    "rotated": fit_rotated_map(equal(bananas(1000) @ MIXING)),
}
EVERY = pytest.mark.parametrize("bijection", MAPS.values(), ids=MAPS)


@pytest.fixture
def points():
    return np.random.default_rng(2).normal(size=(30, DIMENSION))


def differences(function, points, step=1e-6):
    """Central differences of a function of rows: with respect to the k-th coordinate, (n, …, k)."""
    ends = [(function(points + step * axis), function(points - step * axis)) for axis in np.eye(points.shape[1])]
    return np.stack([(after - before) / (2 * step) for after, before in ends], axis=-1)


@EVERY
def test_there_and_back(bijection, points):
    images = bijection.forward(points)
    np.testing.assert_allclose(bijection.inverse(images), points, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(bijection.forward(bijection.inverse(images)), images, rtol=1e-8, atol=1e-8)


@EVERY
def test_the_determinant_is_that_of_forward(bijection, points):
    jacobians = differences(bijection.forward, points)
    np.testing.assert_allclose(bijection.log_det(points), np.linalg.slogdet(jacobians)[1], rtol=1e-5, atol=1e-5)


@EVERY
def test_both_at_once_are_the_same(bijection, points):
    images, log_det = bijection.forward_and_log_det(points)
    np.testing.assert_array_equal(images, bijection.forward(points))
    np.testing.assert_array_equal(log_det, bijection.log_det(points))


@EVERY
def test_the_score_is_that_of_the_density_pulled_back(bijection, points):
    known = sb.Gaussian(np.full(DIMENSION, 0.3), std=2.0)

    def log_prob(points):
        return known.log_prob(bijection.forward(points)) + bijection.log_det(points)

    score = bijection.pull_back_score(points, known.score(bijection.forward(points)))
    np.testing.assert_allclose(score, differences(log_prob, points), rtol=1e-5, atol=1e-4)


def test_an_angle_is_no_bijection_but_has_its_density():
    """Its radius is drawn anew, and ``log_det`` is that of the map to the angle times the radius's density."""
    bounds = as_bounds([sb.Periodic(0.0, 4.0), (0, 1)])
    free = np.random.default_rng(0).normal(size=(30, 3))
    user = bounds.forward(free)
    again = bounds.inverse(user, rng=1)
    np.testing.assert_allclose(bounds.forward(again), user, atol=1e-12)
    np.testing.assert_array_equal(again, bounds.inverse(user, rng=np.random.default_rng(1)))
    assert np.abs(again - free)[:, :2].max() > 0.1
    known = sb.Gaussian([2.0, 0.5], std=1.0)

    def log_prob(free):
        return known.log_prob(bounds.forward(free)) + bounds.log_det(free)

    score = bounds.pull_back_score(free, known.score(bounds.forward(free)))
    np.testing.assert_allclose(score, differences(log_prob, free), rtol=1e-5, atol=1e-5)
