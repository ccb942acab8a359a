"""Maxima of the graph of nearest neighbors."""

import numpy as np

from steinbox.numerics.topography import graph_maxima


def test_maxima_are_those_of_brute_force_the_highest_first(rng):
    points, values = rng.standard_normal((60, 3)), rng.standard_normal(60)
    maxima, neighbors = graph_maxima(points, values, 5)
    order = np.argsort(((points[:, None] - points) ** 2).sum(axis=2), axis=1)[:, 1:6]
    expected = [row for row in range(60) if (values[row] > values[order[row]]).all()]
    assert sorted(maxima) == expected
    assert (np.diff(values[maxima]) <= 0).all()
    np.testing.assert_array_equal(neighbors, order[maxima])


def test_a_single_basin_has_few_maxima_and_two_have_one_each(rng):
    points = rng.uniform(-3, 3, size=(500, 2))
    one = -(points**2).sum(axis=1)
    two = np.maximum(-((points - 2) ** 2).sum(axis=1), -((points + 2) ** 2).sum(axis=1))
    assert len(graph_maxima(points, one, 20)[0]) == 1
    tops = points[graph_maxima(points, two, 20)[0]]
    assert set(np.sign(tops[:, 0])) == {-1.0, 1.0}
    assert len(tops) <= 4


def test_few_points_are_compared_with_all_others():
    maxima, neighbors = graph_maxima(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 2.0]), 10)
    np.testing.assert_array_equal(maxima, [1])
    assert neighbors.shape == (1, 2)
    assert graph_maxima(np.zeros((1, 2)), np.zeros(1), 10)[0].tolist() == [0]


def test_equal_values_are_no_maxima():
    assert len(graph_maxima(np.arange(5.0)[:, None], np.zeros(5), 2)[0]) == 0


def test_points_in_one_place_are_no_maxima_and_have_each_other_as_neighbors():
    points = np.zeros((6, 2))
    points[5] = 1.0
    maxima, neighbors = graph_maxima(points, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), 3)
    np.testing.assert_array_equal(maxima, [5])
    assert neighbors.shape == (1, 3)
    assert 5 not in neighbors
