"""Sums of the Stein direction by random features, against double loops and the kernel that they stand for."""

import numpy as np
import oracles
import pytest

from steinbox.numerics.kernels import RBF
from steinbox.numerics.pairwise import stein_sums, threads
from steinbox.numerics.random_features import draw_frequencies, feature_stein_sums, stein_parts_at


@pytest.mark.parametrize(("num_points", "num_features", "dimension"), [(1, 1, 1), (10, 7, 3), (45, 4, 2)])
def test_sums_equal_a_double_loop_with_the_kernel_of_the_features(num_points, num_features, dimension, rng):
    x, score = rng.standard_normal((2, num_points, dimension))
    weights, frequencies = rng.random(num_points), rng.standard_normal((num_features, dimension))

    def kernel(a, b, _):
        return oracles.anp.mean(oracles.anp.cos(oracles.anp.dot(frequencies, a - b)))

    expected = oracles.stein_direction(x, score, weights, kernel, 1.0, repulsion=0.6)
    sums = feature_stein_sums(x, score, weights, frequencies, 0.6)
    np.testing.assert_allclose(sums, expected, atol=1e-5 * np.abs(expected).max())  # single precision


@pytest.mark.parametrize("dimension", [1, 2, 10])
def test_the_mean_over_frequencies_is_the_kernel(dimension, rng):
    offset = 0.8 * rng.standard_normal(dimension)
    draws = [np.cos(draw_frequencies(30, dimension, 3.0, rng) @ offset).mean() for _ in range(2_000)]
    error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - np.exp(-(offset @ offset) / 3.0)) < 4 * error


def test_frequencies_are_orthogonal_within_a_block_and_as_likely_in_all_directions(rng):
    frequencies = draw_frequencies(7, 3, 1.0, rng)
    assert frequencies.shape == (7, 3)
    products = frequencies @ frequencies.T
    np.testing.assert_allclose((products - np.diag(np.diag(products)))[:3, :3], 0, atol=1e-12)
    many = np.concatenate([draw_frequencies(3, 3, 2.0, rng) for _ in range(2_000)])
    assert np.abs(many.mean(axis=0)).max() < 4 / np.sqrt(len(many))
    np.testing.assert_allclose(many.T @ many / len(many), np.eye(3), atol=0.08)


def test_the_sums_are_unbiased_and_their_error_is_that_of_a_mean(rng):
    x, score = rng.standard_normal((2, 40, 3))
    weights = rng.random(40)
    exact = stein_sums(x, score, weights, RBF(), 4.0, 0.7)
    errors = {}
    for number in (30, 480):
        draws = [feature_stein_sums(x, score, weights, draw_frequencies(number, 3, 4.0, rng), 0.7) for _ in range(200)]
        standard_error = np.std(draws, axis=0) / np.sqrt(len(draws))
        assert np.sqrt(np.mean(((np.mean(draws, axis=0) - exact) / standard_error) ** 2)) < 1.5
        errors[number] = np.sqrt(np.mean((np.array(draws) - exact) ** 2))
    assert 3 < errors[30] / errors[480] < 5.5  # √16 = 4


def test_sums_have_the_same_digits_with_any_number_of_threads_and_far_from_the_origin(monkeypatch, rng):
    x, score = rng.standard_normal((2, 1_003, 5))
    weights, frequencies = rng.random(1_003), rng.standard_normal((50, 5))
    results = []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "count_threads", lambda number=number: number)
        results.append(feature_stein_sums(x, score, weights, frequencies))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    moved = feature_stein_sums(x + 1e6, score, weights, frequencies)
    np.testing.assert_allclose(moved, results[0], atol=1e-4 * np.abs(results[0]).max())


@pytest.mark.parametrize("repulsion", [0.0, 1.0, 0.6])
def test_parts_at_the_particles_are_those_of_the_exact_sums(repulsion, rng):
    x, score = rng.standard_normal((2, 25, 3))
    weights = rng.random(25)
    drive, spread = stein_parts_at(x[3:18], x, score, weights, 2.0, repulsion)
    np.testing.assert_allclose(drive, stein_sums(x, score, weights, RBF(), 2.0, 0.0)[3:18], atol=1e-12)
    both = stein_sums(x, score, weights, RBF(), 2.0, repulsion)[3:18]
    np.testing.assert_allclose(drive + spread, both, atol=1e-12)
