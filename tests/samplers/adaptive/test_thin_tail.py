"""Draws are spread along the thinnest tail, and only there; a run finds the neck of a hierarchy by them."""

from __future__ import annotations

import numpy as np
import pytest

import steinbox as sb
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback
from steinbox.maps.bijection import Identity
from steinbox.samplers.adaptive import DEFAULT_PROPOSERS, ThinTail
from steinbox.samplers.adaptive.proposers.thin_tail import stretch

ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
MEAN_AND_STD_OF_LOG_TAU = 0.802, 1.171  # by quadrature of its marginal, which the effects can be integrated out of


def log_eight_schools(x):
    """The centered eight schools: mu ~ N(0, 5²), tau ~ HalfCauchy(5)."""
    mu, log_tau, theta = x[:, :1], x[:, 1], x[:, 2:]
    scaled = ((theta - mu) ** 2).sum(axis=1) * np.exp(-2 * log_tau) + (((theta - EFFECTS) / ERRORS) ** 2).sum(axis=1)
    return log_tau - np.log(25 + np.exp(2 * log_tau)) - 8 * log_tau - 0.5 * ((mu[:, 0] / 5) ** 2 + scaled)


def test_the_deviation_along_the_tail_is_three_times_as_large_and_the_rest_stays(rng):
    cov = np.array([[2.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 3.0]])
    density = Pullback(Identity(), GaussianMixture([sb.Gaussian([0, 0, 0], cov=cov)]))
    points = rng.multivariate_normal(np.zeros(3), cov, 20_000)
    direction = np.array([1.0, 0.0, 0.0])
    wider = stretch(density, WeightedPoints(points, np.full(20_000, 1 / 20_000), 20_000), points @ direction)
    got = wider.density.covs[0]
    assert got[0, 0] == pytest.approx(9 * cov[0, 0], rel=0.01)
    assert got[2, 2] == pytest.approx(cov[2, 2], rel=0.01)
    given_first = got[1, 1] - got[0, 1] ** 2 / got[0, 0]
    assert given_first == pytest.approx(cov[1, 1] - cov[0, 1] ** 2 / cov[0, 0], rel=0.02)


def test_every_part_of_a_mixture_is_stretched(rng):
    parts = [Pullback(Identity(), GaussianMixture([sb.Gaussian([m, 0], std=1.0)])) for m in (-5.0, 5.0)]
    density = Mixture(parts, [0.3, 0.7])
    points = density.sample(5000, rng)
    wider = stretch(density, WeightedPoints(points, np.full(5000, 1 / 5000), 5000), points[:, 1])
    for part in wider.densities:
        np.testing.assert_allclose(part.density.covs[0], np.diag([1.0, 9.0]), atol=0.2)


def test_nothing_is_offered_for_a_density_of_another_kind(rng):
    points = rng.standard_normal((100, 2))
    assert stretch(sb.Gaussian([0, 0], std=1.0), WeightedPoints(points, np.full(100, 0.01), 100), points[:, 0]) is None


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_finds_the_neck_of_a_hierarchy(seed):
    """Without these draws and without hierarchies, the deviation of log tau is a quarter too small."""
    result = sb.sample(
        log_eight_schools, sb.Gaussian([0.0] * 10, std=[5, 1, *[10] * 8]), vectorized=True, max_evals=20_000, seed=seed
    )
    log_tau, weights = result.pool[:, 1], result.pool_weights
    mean = weights @ log_tau
    std = np.sqrt(weights @ (log_tau - mean) ** 2)
    assert (mean, std) == pytest.approx(MEAN_AND_STD_OF_LOG_TAU, abs=0.08)
    assert result.warnings == ()


def test_it_can_be_left_out():
    kept = [each for each in DEFAULT_PROPOSERS if not isinstance(each, ThinTail)]
    method = sb.AdaptiveImportanceSampling(proposers=kept)
    result = sb.sample(
        log_eight_schools, sb.Gaussian([0.0] * 10, std=5.0), method=method, vectorized=True, max_evals=2_000, seed=0
    )
    assert not any("thin tail" in each for each in result.trace["proposers"])
