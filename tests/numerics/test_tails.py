"""Tails that hardly any point of a weighted sample has reached."""

from __future__ import annotations

import numpy as np
import pytest

from steinbox.numerics.tails import find_thinnest_tail
from steinbox.run.loop import Outcome
from steinbox.run.status import Status
from steinbox.run.warnings import collect_warnings
from steinbox.samplers.base import Sample, WeightedSample


def weighted(points, log_prob, proposal):
    log_weights = log_prob(points) - proposal(points)
    weights = np.exp(log_weights - log_weights.max())
    return points, weights / weights.sum()


def test_equal_weights_have_the_usual_size_everywhere(rng):
    tail = find_thinnest_tail(rng.standard_normal((4000, 3)), np.full(4000, 1 / 4000))
    assert tail.usual == pytest.approx(200)
    assert tail.ratio == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("sign", [1, -1])
def test_it_says_which_end_of_which_coordinate(sign, rng):
    """The proposal is normal where the target has one heavy tail."""
    skew = np.array([0.0, 0.0, sign])

    def log_prob(x):
        return -0.5 * (x[:, :2] ** 2).sum(axis=1) - np.where(x @ skew > 0, 0.3, 1.0) * 0.5 * x[:, 2] ** 2

    points = rng.standard_normal((5000, 3))
    tail = find_thinnest_tail(*weighted(points, log_prob, lambda x: -0.5 * (x**2).sum(axis=1)))
    assert (tail.axis, tail.is_upper) == (2, sign > 0)
    assert tail.is_thin
    assert (sign * points[tail.rows, 2] > 1).all()


def test_a_direction_that_is_no_coordinate_counts_too(rng):
    turned = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)

    def log_prob(z):
        return -0.5 * z[:, 1] ** 2 / 0.05 - np.where(z[:, 0] > 0, 0.25, 1.0) * 0.5 * z[:, 0] ** 2

    z = rng.standard_normal((5000, 2)) * [1.0, np.sqrt(0.05)]
    _, weights = weighted(z, log_prob, lambda x: -0.5 * (x**2 / [1.0, 0.05]).sum(axis=1))
    assert find_thinnest_tail(z @ turned.T, weights).ratio < 0.5


def test_points_without_weight_do_not_matter(rng):
    points, weights = rng.standard_normal((1000, 2)), np.full(1000, 1e-3)
    alone = find_thinnest_tail(points, weights)
    more = find_thinnest_tail(np.vstack([np.full((50, 2), 1e6), points]), np.concatenate([np.zeros(50), weights]))
    assert more.ratio == alone.ratio
    np.testing.assert_array_equal(more.rows, alone.rows + 50)


def test_a_coordinate_that_does_not_vary(rng):
    points = np.column_stack([rng.standard_normal(500), np.full(500, 3.0)])
    assert np.isfinite(find_thinnest_tail(points, np.full(500, 1 / 500)).ratio)


def warnings_of(log_prob):
    """Of an outcome whose pool are draws of a standard normal distribution, weighted."""
    points = np.random.default_rng(0).standard_normal((5000, 2))
    pool = WeightedSample(*weighted(points, log_prob, lambda x: -0.5 * (x**2).sum(axis=1)), log_prob(points))
    sample = Sample(points[:200], np.full(200, 1 / 200), log_prob(points[:200]), pool)
    trace = ({"mean_log_prob": 0.0},) * 10
    return tuple(collect_warnings(Outcome(sample, trace, Status.FINISHED), ("mu", "log_tau")))


def test_a_run_says_which_tail_may_be_cut_off():
    (words,) = warnings_of(lambda x: -0.5 * x[:, 0] ** 2 - np.where(x[:, 1] < 0, 0.3, 1.0) * 0.5 * x[:, 1] ** 2)
    assert words.startswith("The lower 5% of log_tau rest on ")
    assert "standard deviation too small" in words


def test_a_run_with_even_tails_says_nothing():
    assert warnings_of(lambda x: -0.5 * (x**2).sum(axis=1)) == ()
    assert warnings_of(lambda x: -0.5 * (x**2 / 0.7**2).sum(axis=1)) == ()
