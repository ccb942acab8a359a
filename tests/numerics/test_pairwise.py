"""The O(n²) sums against double loops, over tile borders, far from the origin."""

import threading
import tracemalloc

import numpy as np
import oracles
import pytest
from scipy.spatial.distance import cdist, pdist

from steinbox.numerics import pairwise
from steinbox.numerics.kernels import IMQ, RBF
from steinbox.numerics.pairwise import distances, threads, tiles

KERNELS = [(RBF(), oracles.rbf), (IMQ(), oracles.imq)]


@pytest.fixture(params=[3, 256], ids=["small tiles", "one tile"])
def tile(request, monkeypatch):
    monkeypatch.setattr(tiles, "MAX_TILE_ROWS", request.param)


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


@pytest.fixture
def use_threads(monkeypatch):
    return lambda number: monkeypatch.setattr(threads, "count_threads", lambda: number)


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
@pytest.mark.parametrize("num_points", [271, 272, 273, 700])
def test_sums_have_the_same_digits_with_any_number_of_threads(kernel, oracle, num_points, use_threads, rng):
    x, score = rng.standard_normal((2, num_points, 25))
    weights = rng.random(num_points)
    results = []
    for number in (1, 2, 5):
        use_threads(number)
        results.append(
            [
                pairwise.stein_sums(x, score, weights, kernel, 48.0, 0.7),
                pairwise.weighted_kernel_square(x, weights, kernel, 48.0),
                pairwise.median_squared_distance(x),
            ]
        )
    for others in results[1:]:
        for first, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize(("kernel", "oracle"), KERNELS)
@pytest.mark.parametrize("num_points", [1, 135, 136, 137, 272, 273, 699])
def test_sums_over_several_panels_equal_those_over_all_pairs_at_once(kernel, oracle, num_points, use_threads, rng):
    use_threads(2)
    x, score = rng.standard_normal((2, num_points, 25))
    weights = rng.random(num_points) * (rng.random(num_points) < 0.8)
    offsets = x[:, None] - x
    u = (offsets**2).sum(axis=2) / 48.0
    value = kernel.value(u)
    repulsion = -(2 / 48.0) * 0.7 * np.einsum("ij,j,ijd->id", value * kernel.slope_ratio(u), weights, offsets)
    expected = value @ (weights[:, None] * score) + repulsion
    size = np.abs(expected).max()
    np.testing.assert_allclose(
        pairwise.stein_sums(x, score, weights, kernel, 48.0, 0.7), expected, rtol=0, atol=1e-12 * size
    )
    square = pairwise.weighted_kernel_square(x, weights, kernel, 48.0)
    assert square == pytest.approx(weights @ value @ weights, rel=1e-12)


def test_single_precision_particles_are_summed_in_double(rng):
    x, score = rng.standard_normal((2, 300, 4)).astype(np.float32)
    weights = np.full(300, 1 / 300)
    sums = pairwise.stein_sums(x, score, weights, RBF(), 4.0)
    assert sums.dtype == np.float64
    expected = pairwise.stein_sums(x.astype(float), score.astype(float), weights, RBF(), 4.0)
    np.testing.assert_allclose(sums, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", [RBF(), IMQ()])
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_points_of_any_size_give_finite_sums(kernel, scale, rng):
    x, score = rng.standard_normal((2, 300, 3))
    weights = np.full(300, 1 / 300)
    expected = pairwise.stein_sums(x, score, weights, kernel, 3.0)
    sums = pairwise.stein_sums(scale * x, score / scale, weights, kernel, 3.0 * scale**2)
    np.testing.assert_allclose(sums * scale, expected, atol=1e-12 * np.abs(expected).max())


def test_particles_beyond_all_rounding_still_push_themselves(rng):
    x = rng.standard_normal((300, 2))
    x[::30] *= 1e9  # squared distances are wrong by 100 there
    score = rng.standard_normal(x.shape)
    sums = pairwise.stein_sums(x, score, np.ones(300), RBF(), 2.0)
    np.testing.assert_allclose(sums[::30], score[::30], atol=1e-6)


def test_threads_see_the_callers_errstate_and_raise_its_errors(use_threads):
    use_threads(3)

    def divide(number):
        return np.float64(1.0) / number

    with np.errstate(divide="ignore"):
        assert list(threads.map_in_threads(divide, [0.0, 1.0, 2.0])) == [np.inf, 1.0, 0.5]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(threads.map_in_threads(divide, [1.0, 0.0, 2.0]))


def test_no_thread_outlives_the_sums(use_threads, rng):
    use_threads(4)
    before = threading.active_count()
    x, score = rng.standard_normal((2, 700, 5))
    pairwise.stein_sums(x, score, np.full(700, 1 / 700), RBF(), 5.0)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, 8),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "3"}, 1),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"MKL_NUM_THREADS": "64"}, 8),
        ({"OMP_NUM_THREADS": "many"}, 8),
        ({"OMP_NUM_THREADS": "0"}, 1),
    ],
)
def test_the_number_of_threads_is_that_of_blas(variables, expected, monkeypatch):
    for name in threads.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: range(8), raising=False)
    assert threads.count_threads() == expected


def test_one_update_of_many_particles_takes_little_memory(use_threads, rng):
    use_threads(2)
    x, score = rng.standard_normal((2, 20_000, 10))
    tracemalloc.start()
    pairwise.stein_sums(x, score, np.full(20_000, 1 / 20_000), RBF(), 20.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6  # five times as many particles have 150 MB
