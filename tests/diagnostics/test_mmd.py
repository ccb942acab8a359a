"""MMD against the dense formula and its known expectations."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

import steinbox as sb


def dense(x, y, a, h, unbiased=False):
    def kernel(p, q):
        return np.exp(-(cdist(p, q) ** 2) / h)

    within_x, within_y, cross = kernel(x, x), kernel(y, y), a @ kernel(x, y).mean(axis=1)
    if unbiased:
        n, m = len(x), len(y)
        return (within_x.sum() - n) / (n * (n - 1)) + (within_y.sum() - m) / (m * (m - 1)) - 2 * cross
    return a @ within_x @ a + within_y.mean() - 2 * cross


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_both_statistics_equal_the_dense_formula(shift, rng):
    x, y = rng.standard_normal((40, 3)) + shift, rng.standard_normal((60, 3))
    h = np.median(pdist(y)) ** 2
    uniform = np.full(40, 1 / 40)
    assert sb.mmd(x, y) ** 2 == pytest.approx(dense(x, y, uniform, h), rel=1e-9)
    signed = sb.mmd(x, y, statistic="u")
    assert np.sign(signed) * signed**2 == pytest.approx(dense(x, y, uniform, h, unbiased=True), rel=1e-9)


def test_weights_are_normalised_and_used(rng):
    x, y, weights = rng.standard_normal((40, 2)), rng.standard_normal((50, 2)), rng.random(40)
    expected = dense(x, y, weights / weights.sum(), 2.0)
    assert sb.mmd(x, y, weights=weights, bandwidth=2.0) ** 2 == pytest.approx(expected, rel=1e-9)
    weights[5:] = 0
    assert sb.mmd(x, y, weights=weights) == pytest.approx(sb.mmd(x[:5], y, weights=weights[:5]), rel=1e-9)


def test_a_sample_is_at_distance_zero_from_itself(rng):
    x = rng.standard_normal((30, 4))
    assert sb.mmd(x, x) == pytest.approx(0, abs=1e-7)


def test_the_unbiased_statistic_has_mean_zero_for_equal_distributions(rng):
    squares = []
    for _ in range(300):
        root = sb.mmd(rng.standard_normal((50, 2)), rng.standard_normal((50, 2)), statistic="u", bandwidth=2.0)
        squares.append(np.sign(root) * root**2)
    assert abs(np.mean(squares)) < 4 * np.std(squares) / np.sqrt(300)


@pytest.mark.parametrize(
    ("x", "settings", "message"),
    [
        (np.ones((3, 2)), {}, "same dimension, got 2 and 3"),
        (np.ones(3), {}, "shape .n, d. with at least two rows"),
        (np.full((3, 3), np.nan), {}, "finite numbers in points"),
        (np.eye(3), {"weights": [1, 2]}, "3 weights"),
        (np.eye(3), {"weights": [0, 0, 0]}, "not all 0"),
        (np.eye(3), {"weights": [1, 0, 0], "statistic": "u"}, "one point carries all the weight"),
        (np.eye(3), {"statistic": "w"}, "'v' or 'u', got 'w'"),
    ],
)
def test_nonsense_is_refused_in_words(x, settings, message, rng):
    with pytest.raises(ValueError, match=message):
        sb.mmd(x, rng.standard_normal((5, 3)), **settings)
