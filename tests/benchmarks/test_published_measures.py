"""The measures of the published suites against closed forms."""

import numpy as np
import pytest
from case import Case
from measures import Answer, Truth, diffusion_time, gskl, mmtv, smoothed, total_variation
from scipy import stats


def equal(num_points):
    return np.full(num_points, 1 / num_points)


def truth(log_evidence=1.5, num_draws=50_000):
    """Of N((1, −2), diag(4, 9))."""

    def sample(num_points, rng):
        return np.array([1.0, -2.0]) + np.array([2.0, 3.0]) * rng.standard_normal((num_points, 2))

    case = Case("normal", None, [stats.norm()] * 2, log_evidence, sample, (100,), None)
    return Truth(case, sample(num_draws, np.random.default_rng(5)))


def kl(mean, cov, other_mean, other_cov):
    """Between Gaussians, by the textbook's formula with determinants."""
    inverse, offset = np.linalg.inv(other_cov), other_mean - mean
    log_ratio = np.linalg.slogdet(other_cov)[1] - np.linalg.slogdet(cov)[1]
    return 0.5 * (np.trace(inverse @ cov) + offset @ inverse @ offset - len(mean) + log_ratio)


def test_gskl_is_the_mean_of_both_divergences_per_dimension(rng):
    roots = rng.standard_normal((2, 3, 3))
    one, two = (root @ root.T + np.eye(3) for root in roots)
    mean, other = rng.standard_normal((2, 3))
    expected = (kl(mean, one, other, two) + kl(other, two, mean, one)) / (2 * 3)
    assert gskl(mean, one, other, two) == pytest.approx(expected, rel=1e-12)
    assert gskl(mean, one, mean, one) == pytest.approx(0.0, abs=1e-12)


def test_gskl_of_a_singular_covariance_is_infinite():
    assert gskl(np.zeros(2), np.zeros((2, 2)), np.zeros(2), np.eye(2)) == np.inf


def test_total_variation_of_two_normals_is_the_closed_form(rng):
    for shift in (0.5, 1.0, 3.0):
        x, y = rng.standard_normal(50_000), shift + rng.standard_normal(50_000)
        expected = 2 * stats.norm.cdf(shift / 2) - 1
        assert total_variation(x, equal(50_000), y, equal(50_000)) == pytest.approx(expected, abs=0.012)


def test_total_variation_is_that_of_the_weighted_density(rng):
    """Draws of N(0, 4) with weights N(1, 1) / N(0, 4) are draws of N(1, 1)."""
    x = 2 * rng.standard_normal(50_000)
    weights = stats.norm.pdf(x, 1, 1) / stats.norm.pdf(x, 0, 2)
    weights, y = weights / weights.sum(), 1 + rng.standard_normal(50_000)
    assert total_variation(x, weights, y, equal(50_000)) < 0.025
    assert total_variation(x, equal(50_000), y, equal(50_000)) > 0.3


def test_disjoint_densities_are_one_apart_and_a_sample_none_from_itself(rng):
    x = rng.standard_normal(2_000)
    assert total_variation(x, equal(2_000), x + 100, equal(2_000)) == pytest.approx(1.0, abs=1e-6)
    assert total_variation(x, equal(2_000), x, equal(2_000)) == pytest.approx(0.0, abs=1e-12)


def test_points_without_weight_change_nothing(rng):
    x, y = rng.standard_normal(2_000), rng.standard_normal(3_000)
    wider = np.append(x, 1e9)
    with_zero = np.append(equal(2_000), 0.0)
    near = total_variation(x, equal(2_000), y, equal(3_000))
    assert total_variation(wider, with_zero, y, equal(3_000)) == pytest.approx(near, abs=1e-9)


def test_mmtv_is_the_mean_over_coordinates(rng):
    x, y = rng.standard_normal((2, 4_000, 2))
    y[:, 1] += 100
    first = total_variation(x[:, 0], equal(4_000), y[:, 0], equal(4_000))
    assert mmtv(x, equal(4_000), y, equal(4_000)) == pytest.approx((first + 1) / 2)


@pytest.mark.parametrize("num_points", [1_000, 30_000])
def test_bandwidth_of_normal_draws_is_the_best_one(num_points, rng):
    """(4 / 3n)^(1/5) standard deviations, in the mean over ten samples."""
    bandwidths = []
    for x in rng.standard_normal((10, num_points)):
        counts, _ = np.histogram(x, 2**13, (-6, 6), weights=equal(num_points))
        bandwidths.append(12 * np.sqrt(diffusion_time(counts, num_points)))
    assert np.mean(bandwidths) == pytest.approx((4 / 3 / num_points) ** 0.2, rel=0.08)


def test_bandwidth_sees_two_narrow_modes(rng):
    """That of one mode, not of the distance between them."""
    x = np.concatenate([rng.normal(-5, 0.1, 5_000), rng.normal(5, 0.1, 5_000)])
    counts, _ = np.histogram(x, 2**13, (-8, 8), weights=equal(10_000))
    assert 16 * np.sqrt(diffusion_time(counts, 10_000)) < 0.04


def test_smoothed_masses_are_those_of_a_kernel_estimate(rng):
    x = rng.standard_normal(500)
    weights = rng.random(500)
    weights /= weights.sum()
    counts, edges = np.histogram(x, 2**13, (-8, 8), weights=weights)
    bandwidth = 16 * np.sqrt(diffusion_time(counts, 1 / (weights**2).sum()))
    middles = 0.5 * (edges[1:] + edges[:-1])
    density = weights @ stats.norm.pdf(middles, x[:, None], bandwidth)
    assert smoothed(x, weights, -8, 8) / (16 / 2**13) == pytest.approx(density, abs=2e-3)


def test_errors_are_in_units_of_the_posterior():
    """The exact draws moved by half a standard deviation in one coordinate, and stretched by 1.2 in the other."""
    exact = truth()
    points = exact.draws.copy()
    points[:, 0] += 0.5 * exact.sd[0]
    points[:, 1] = exact.mean[1] + 1.2 * (points[:, 1] - exact.mean[1])
    measured = exact.compare(Answer(points, equal(len(points)), 1.8, 0.2))
    assert measured.mean_worst == pytest.approx(0.5, abs=1e-6)
    assert measured.mean_median == pytest.approx(0.25, abs=1e-6)
    assert measured.sd_worst == pytest.approx(0.2, abs=1e-3)
    assert measured.sd_median == pytest.approx(0.1, abs=1e-3)
    assert measured.quantile_worst == pytest.approx(0.5, abs=0.01)
    assert measured.quantile_median == pytest.approx((0.5 + 0.2 * 1.645) / 2, abs=0.02)
    assert measured.log_z_error == pytest.approx(0.3)
    assert measured.log_z_score == pytest.approx(1.5)
    assert measured.effective_size == pytest.approx(len(points))


def test_weights_count_in_every_measure():
    """The exact draws with others that have no weight."""
    exact = truth()
    points = np.concatenate([exact.draws, exact.draws + 50])
    weights = np.concatenate([equal(50_000), np.zeros(50_000)])
    measured = exact.compare(Answer(points, weights))
    errors = [measured.mmtv, measured.gskl, measured.mean_worst, measured.sd_worst, measured.quantile_worst]
    assert errors == pytest.approx([0.0] * 5, abs=1e-3)
    assert np.isnan(measured.log_z_error)
    assert np.isnan(measured.log_z_score)
