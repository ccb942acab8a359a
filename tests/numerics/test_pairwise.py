"""The O(n²) sums against double loops, over tile borders, far from the origin."""

import tracemalloc

import numpy as np
import oracles
import pytest
from scipy.spatial.distance import cdist, pdist

from steinbox.numerics import pairwise
from steinbox.numerics.kernels import IMQ, RBF
from steinbox.numerics.pairwise import distances

KERNELS = [(RBF(), oracles.rbf), (IMQ(), oracles.imq)]


@pytest.fixture(params=[3, 256], ids=["small tiles", "one tile"])
def tile(request, monkeypatch):
    monkeypatch.setattr(distances, "MAX_TILE_ROWS", request.param)


def test_squared_distances_stay_exact_far_from_the_origin(rng):
    x, y = rng.standard_normal((20, 5)) + 1e6, rng.standard_normal((30, 5)) + 1e6
    np.testing.assert_allclose(pairwise.squared_distances(x, y), cdist(x, y) ** 2, rtol=1e-9)


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
@pytest.mark.parametrize("dimension", [1, 4])
def test_stein_sums_equal_a_double_loop(kernel, oracle, dimension, tile, rng):
    x, score = rng.standard_normal((2, 10, dimension))
    weights = rng.random(10)
    expected = oracles.stein_direction(x, score, weights, oracle, 1.7, repulsion=0.6)
    np.testing.assert_allclose(pairwise.stein_sums(x, score, weights, kernel, 1.7, 0.6), expected, atol=1e-12)


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
def test_kernel_expansion_and_its_gradient(kernel, oracle, tile, rng):
    centers, coefficients, x = rng.standard_normal((10, 3)), rng.standard_normal(10), rng.standard_normal((7, 3))

    def expansion(point):
        return sum(c * oracle(point, center, 2.0) for c, center in zip(coefficients, centers, strict=True))

    values, gradients = pairwise.kernel_expansion(x, centers, coefficients, kernel, 2.0)
    np.testing.assert_allclose(values, [expansion(row) for row in x], atol=1e-12)
    np.testing.assert_allclose(gradients, oracles.rowwise_gradient(expansion, x), atol=1e-12)


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
@pytest.mark.parametrize("spread", [1.0, 2000.0], ids=["narrow", "beyond the range of exp"])
def test_log_kernel_expansion_and_its_gradient(kernel, oracle, spread, tile, rng):
    centers, x = rng.standard_normal((10, 3)), rng.standard_normal((7, 3))
    log_coefficients = spread * rng.standard_normal(10)

    def expansion(point):
        terms = [c + oracles.anp.log(oracle(point, y, 2.0)) for c, y in zip(log_coefficients, centers, strict=True)]
        return oracles.logsumexp(oracles.anp.array(terms))

    values, gradients = pairwise.log_kernel_expansion(x, centers, log_coefficients, kernel, 2.0)
    np.testing.assert_allclose(values, [expansion(row) for row in x], rtol=1e-12)
    np.testing.assert_allclose(gradients, oracles.rowwise_gradient(expansion, x), atol=1e-10)


def test_weighted_kernel_mean_equals_the_dense_sum(tile, rng):
    x, y = rng.standard_normal((8, 2)), rng.standard_normal((11, 2))
    a, b = rng.random(8), rng.random(11)
    expected = a @ np.exp(-(cdist(x, y) ** 2) / 1.3) @ b
    assert pairwise.weighted_kernel_mean(x, a, y, b, RBF(), 1.3) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("num_points", [2, 3, 4, 50, 51])
def test_median_is_that_of_distances_between_different_points(num_points, tile, rng):
    x = rng.standard_normal((num_points, 3))
    assert pairwise.median_squared_distance(x) == pytest.approx(np.median(pdist(x)) ** 2, rel=1e-10)


@pytest.mark.parametrize("shape", ["gaussian", "two clusters", "mostly the same point", "outlier", "grid"])
@pytest.mark.parametrize("num_points", [700, 701])
def test_median_of_many_points_is_exact_even_where_the_bracket_misleads(shape, num_points, rng, monkeypatch):
    x = rng.standard_normal((num_points, 2))
    x = {
        "gaussian": x,
        "two clusters": x + 100 * (np.arange(num_points) % 2)[:, None],
        "mostly the same point": x * (np.arange(num_points) % 10 == 0)[:, None],
        "outlier": np.vstack([x[1:], [[1e4, 0.0]]]),
        "grid": np.round(x),
    }[shape]
    expected = np.median(pdist(x)) ** 2
    assert pairwise.median_squared_distance(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    monkeypatch.setattr(distances, "_median_bracket", lambda points: (1e-3, 2e-3))
    assert pairwise.median_squared_distance(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_memory_grows_with_the_tile_not_with_the_square(rng):
    x, score = rng.standard_normal((2, 6000, 10))
    tracemalloc.start()
    pairwise.stein_sums(x, score, np.full(6000, 1 / 6000), RBF(), 20.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6000**2 * 8 / 10  # a tenth of one n × n array
