"""Basins of a sample."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.numerics.basins import find_basins


def big_basins(points, values):
    labels = find_basins(points, values, num_neighbors=10, min_drop=2.0)
    return labels, np.flatnonzero(np.bincount(labels) >= 0.05 * len(points))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("dimension", "distance"), [(1, 8.0), (2, 6.0), (2, 8.0)])
def test_two_modes_are_two_basins(dimension, distance, seed):
    """Also with points between them: with the nearest neighbors alone, these join the modes."""
    target = sb.targets.separated_modes(dimension, distance=distance)
    points = target.sample(300, np.random.default_rng(seed))
    labels, big = big_basins(points, target.log_prob(points))
    assert len(big) == 2
    side = points @ (target.components[0].mean - target.components[1].mean) > 0
    shares = np.sort([side[labels == basin].mean() for basin in big])
    np.testing.assert_allclose(shares, [0, 1], atol=0.02)


def ring(points):
    return -0.5 * ((np.linalg.norm(points, axis=1) - 5) / 0.2) ** 2


def draw_ring(num_points, rng):
    angle, radius = rng.uniform(0, 2 * np.pi, num_points), 5 + 0.2 * rng.normal(size=num_points)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def normal(points):
    return -0.5 * np.sum(points**2, axis=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("draw", "log_prob"),
    [
        (lambda n, rng: rng.normal(size=(n, 1)), normal),
        (lambda n, rng: rng.normal(size=(n, 10)), normal),
        (lambda n, rng: rng.uniform(size=(n, 5)), lambda x: np.zeros(len(x))),
        (draw_ring, ring),
        (sb.targets.Funnel(2).sample, sb.targets.Funnel(2).log_prob),
    ],
    ids=["line", "ten dimensions", "flat", "ring", "funnel"],
)
def test_one_mode_is_one_basin(draw, log_prob, seed):
    points = draw(300, np.random.default_rng(seed))
    assert len(big_basins(points, log_prob(points))[1]) == 1


def test_a_dip_counts_from_its_depth_on():
    points, values = np.arange(5.0)[:, None], np.array([0.0, 1.0, -1.0, 2.0, 0.0])
    np.testing.assert_array_equal(find_basins(points, values, 2, min_drop=1.9), [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(find_basins(points, values, 2, min_drop=2.1), [0, 0, 0, 0, 0])


def test_order_and_copies_change_nothing(rng):
    target = sb.targets.separated_modes(2)
    points = target.sample(100, rng)
    labels = find_basins(points, target.log_prob(points), 10, 2.0)
    rows = rng.permutation(np.repeat(np.arange(100), 20))
    np.testing.assert_array_equal(find_basins(points[rows], target.log_prob(points[rows]), 10, 2.0), labels[rows])


def test_one_point_is_a_basin():
    np.testing.assert_array_equal(find_basins(np.zeros((3, 2)), np.zeros(3), 10, 2.0), [0, 0, 0])
