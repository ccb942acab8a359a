"""Hierarchies are found in weighted points, and what is found holds where no point was."""

from __future__ import annotations

import numpy as np
import pytest

import steinbox as sb
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.hierarchies import fit_hierarchical_map
from steinbox.densities.fitting.shapes import Hierarchical
from steinbox.densities.fitting.triangular_map import fit_triangular_map

ERRORS = np.array([0.5, 0.8, 1.0, 1.3, 1.6, 2.0])
VALUES = np.array([1.0, -2.0, 0.5, 3.0, 0.0, -1.0])


def equal(points):
    return WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))


class Groups:
    """Six effects, around a mean N(0, 1) and with log-scale N(0, 1), each measured once: exact draws by resampling."""

    def __init__(self, slope=1.0):
        self.slope = slope

    def log_prob(self, x):
        effects, mean, log_scale = x[:, :6], x[:, 6:7], x[:, 7:]
        scaled = ((effects - mean) ** 2 * np.exp(-2 * self.slope * log_scale) + 2 * self.slope * log_scale).sum(axis=1)
        data = (((effects - VALUES) / ERRORS) ** 2).sum(axis=1)
        return -0.5 * (scaled + data + mean[:, 0] ** 2 + log_scale[:, 0] ** 2)

    def sample(self, num_points, rng):
        mean, log_scale = rng.standard_normal((2, 60 * num_points, 1))
        variance = np.exp(2 * self.slope * log_scale)
        log_weights = -0.5 * ((VALUES - mean) ** 2 / (variance + ERRORS**2) + np.log(variance + ERRORS**2)).sum(axis=1)
        weights = np.exp(log_weights - log_weights.max())
        rows = rng.choice(len(weights), num_points, replace=False, p=weights / weights.sum())
        mean, log_scale, variance = mean[rows], log_scale[rows], variance[rows]
        precision = 1 / variance + ERRORS**-2
        center = (mean / variance + VALUES / ERRORS**2) / precision
        return np.hstack([center + rng.standard_normal(center.shape) / np.sqrt(precision), mean, log_scale])


def test_what_the_data_say_is_found_for_every_effect():
    map_ = fit_hierarchical_map(equal(Groups().sample(3000, np.random.default_rng(0))))
    np.testing.assert_array_equal(map_.effects, np.arange(6))
    assert set(map_.locations) == {6}
    assert set(map_.scales) == {7}
    assert set(map_.slopes) == {1.0}
    np.testing.assert_allclose(map_.log_factors, 0, atol=0.5)
    np.testing.assert_allclose(map_.log_precisions, -2 * np.log(ERRORS), atol=1.0)


@pytest.mark.parametrize("slope", [1.0, 0.5, -0.5])
def test_a_log_scale_may_be_that_of_a_deviation_a_variance_or_a_precision(slope, rng):
    mean, log_scale = rng.standard_normal((2, 2000, 1))
    effects = mean + np.exp(slope * log_scale) * rng.standard_normal((2000, 5))
    map_ = fit_hierarchical_map(equal(np.hstack([log_scale, effects, mean])))
    np.testing.assert_array_equal(map_.effects, np.arange(1, 6))
    assert (set(map_.locations), set(map_.scales), set(map_.slopes)) == ({6}, {0}, {slope})


def test_effects_around_a_constant(rng):
    log_scale = rng.standard_normal((2000, 1))
    effects = [1.0, 2.0, 3.0] + np.exp(log_scale) * rng.standard_normal((2000, 3))
    map_ = fit_hierarchical_map(equal(np.hstack([log_scale, effects])))
    assert set(map_.locations) == {-1}
    np.testing.assert_allclose(map_.constants, [1, 2, 3], atol=0.1)


def test_two_groups(rng):
    leads = rng.standard_normal((2000, 4))
    first = leads[:, :1] + np.exp(leads[:, 1:2]) * rng.standard_normal((2000, 4))
    second = leads[:, 2:3] + np.exp(leads[:, 3:]) * rng.standard_normal((2000, 3))
    map_ = fit_hierarchical_map(equal(np.hstack([leads, first, second])))
    order = np.argsort(map_.effects)
    np.testing.assert_array_equal(map_.effects[order], np.arange(4, 11))
    np.testing.assert_array_equal(map_.locations[order], [0] * 4 + [2] * 3)
    np.testing.assert_array_equal(map_.scales[order], [1] * 4 + [3] * 3)


def test_there_is_none_where_there_is_none(rng):
    mixing = rng.standard_normal((6, 6))
    assert fit_hierarchical_map(equal(rng.standard_normal((2000, 6)) @ mixing)) is None
    assert fit_hierarchical_map(equal(rng.standard_normal((2000, 1)))) is None
    bananas = [sb.targets.Banana().sample(2000, rng) for _ in range(3)]
    map_ = fit_hierarchical_map(equal(np.hstack(bananas)))
    assert map_ is None or len(map_.effects) < 4


def test_units_and_numbers_far_from_zero_do_not_matter(rng):
    x = Groups().sample(2000, rng)
    same = fit_hierarchical_map(equal(x))
    units = np.array([10.0] * 7 + [1.0])
    moved = fit_hierarchical_map(equal(x * units + [*[1e5] * 7, 1.0]))
    np.testing.assert_array_equal(moved.locations, same.locations)
    np.testing.assert_allclose(moved.values, 10 * same.values + 1e5, atol=5)
    np.testing.assert_allclose(moved.log_factors, same.log_factors + 2 - 2 * np.log(10), atol=0.2)


def test_it_holds_in_the_neck_where_no_point_was():
    """Fitted to points above the middle of the log-scale, it makes those two deviations below it white."""
    draws = Groups().sample(12_000, np.random.default_rng(1))
    low, middle = np.quantile(draws[:, 7], [0.02, 0.5])
    bulk, neck = draws[draws[:, 7] > middle], draws[draws[:, 7] < low]
    hierarchy, triangular = fit_hierarchical_map(equal(bulk)), fit_triangular_map(equal(bulk), curved=True)
    spread = hierarchy.forward(neck)[:, hierarchy.effects].std(axis=0)
    assert len(spread) >= 4  # of the others the data say much more than their group does, in the bulk
    assert ((spread > 0.7) & (spread < 1.4)).all()
    assert np.abs(np.log(triangular.forward(neck).std(axis=0))).max() > np.log(2)


def test_the_family_chooses_it():
    sample = equal(Groups().sample(2000, np.random.default_rng(0)))
    chosen = CurvedMixtures(gaussianized=False).choose(sample, np.random.default_rng(0))
    assert isinstance(chosen.shape.map, Hierarchical)
    without = CurvedMixtures(gaussianized=False, hierarchical=False).choose(sample, np.random.default_rng(0))
    assert not isinstance(without.shape.map, Hierarchical)
