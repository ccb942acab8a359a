"""Weights of given points that represent draws."""

import numpy as np

from steinbox.numerics.quadrature import quadrature_weights


def test_the_weighted_points_have_the_moments_of_the_draws():
    rng = np.random.default_rng(0)
    points, draws = rng.uniform(-4, 4, size=(150, 2)), rng.standard_normal((3000, 2)) * [1.0, 0.5] + [0.5, 0.0]
    weights = quadrature_weights(points, draws)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(), 1)
    np.testing.assert_allclose(weights @ points, [0.5, 0.0], atol=0.05)
    np.testing.assert_allclose(weights @ (points - [0.5, 0.0]) ** 2, [1.0, 0.25], rtol=0.2)


def test_they_do_not_depend_on_units():
    rng = np.random.default_rng(1)
    points, draws = rng.standard_normal((40, 2)), rng.standard_normal((500, 2))
    scale = np.array([1e6, 1e-6])
    np.testing.assert_allclose(
        quadrature_weights(points * scale, draws * scale), quadrature_weights(points, draws), atol=1e-6
    )


def test_a_narrow_direction_is_seen_whatever_its_angle():
    rng = np.random.default_rng(2)
    stretch = np.array([[1.0, 0.0], [1.0, 0.01]])
    points, draws = 1.5 * rng.standard_normal((150, 2)) @ stretch.T, rng.standard_normal((2000, 2)) @ stretch.T
    weights = quadrature_weights(points, draws)
    across = (points[:, 1] - points[:, 0]) / 0.01
    assert 0.7 < weights @ across**2 < 1.3


def test_draws_far_from_all_points_go_to_the_nearest():
    points = np.array([[0.0], [1.0], [100.0]])
    draws = 50.4 + 1e-3 * np.random.default_rng(0).standard_normal((100, 1))
    np.testing.assert_array_equal(quadrature_weights(points, draws), [0.0, 1.0, 0.0])
