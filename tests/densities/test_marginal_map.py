"""Coordinates that are made normal one by one, along axes that are found."""

import numpy as np
import pytest

from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.marginal_map import _log_prob, fit_marginal_map
from steinbox.maps.marginal import MarginalMap
from steinbox.numerics.independent_components import CONTRASTS, find_independent_axes

NUM_POINTS = 20_000


def equal(points):
    return WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points))


def test_the_gradient_is_that_of_the_log_density(rng):
    y, parameters, step = rng.normal(size=(50, 3)), 0.3 * rng.normal(size=(4, 3)), 1e-6
    gradient = _log_prob(y, parameters)[1]
    for k in range(4):
        shift = step * np.eye(4)[k][:, None]
        ends = [_log_prob(y, parameters + sign * shift)[0] for sign in (1, -1)]
        np.testing.assert_allclose(gradient[k], (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("skew", "tail"), [(0.0, 1.0), (0.8, 1.0), (-0.3, 0.7), (0.0, 0.5)])
def test_the_parameters_are_found_again(rng, skew, tail):
    true = MarginalMap(np.eye(1), np.array([7.0]), np.array([3.0]), np.array([skew]), np.array([tail]))
    fitted = fit_marginal_map(equal(true.inverse(rng.normal(size=(NUM_POINTS, 1)))))
    found = np.concatenate([fitted.skew, fitted.tail, fitted.center, np.log(fitted.scale)])
    np.testing.assert_allclose(found, [skew, tail, 7.0, np.log(3.0)], atol=0.15)


def test_no_maximum_is_missed(rng):
    """The likelihood is as high as that of the parameters that made the points."""
    true = MarginalMap(np.eye(2), np.zeros(2), np.ones(2), np.array([0.9, -0.4]), np.array([0.6, 0.9]))
    points = true.inverse(rng.normal(size=(2000, 2)))

    def mean_log_prob(map_):
        u, log_det = map_.forward_and_log_det(points)
        return float(np.mean(log_det - 0.5 * (u**2).sum(axis=1)))

    assert mean_log_prob(fit_marginal_map(equal(points))) > mean_log_prob(true)


def test_tails_are_never_lighter_than_those_of_a_gaussian(rng):
    assert fit_marginal_map(equal(rng.uniform(-1, 1, size=(2000, 3)))).tail.max() <= 1


def test_weights_count(rng):
    """Draws of N(0, 4), weighted by those of a skew density, are fitted as its own draws are."""
    true = MarginalMap(np.eye(1), np.zeros(1), np.ones(1), np.array([0.5]), np.ones(1))
    points = 2 * rng.normal(size=(NUM_POINTS, 1))
    u, log_det = true.forward_and_log_det(points)
    weights = np.exp(log_det - 0.5 * u[:, 0] ** 2 + points[:, 0] ** 2 / 8)
    fitted = fit_marginal_map(WeightedPoints(points, weights / weights.sum(), NUM_POINTS / 2))
    np.testing.assert_allclose(fitted.skew, 0.5, atol=0.1)


@pytest.mark.parametrize(("name", "make"), [("skewness", "exponential"), ("tails", "laplace")])
def test_independent_axes_are_found(rng, name, make):
    sources = getattr(rng, make)(size=(5000, 6))
    sources = (sources - sources.mean(axis=0)) / sources.std(axis=0)
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    axes = find_independent_axes(sources @ rotation, np.full(5000, 1 / 5000), CONTRASTS[name])
    np.testing.assert_allclose(axes.T @ axes, np.eye(6), atol=1e-12)
    assert np.abs(rotation @ axes).max(axis=0).min() > 0.97  # a random rotation has 0.7
