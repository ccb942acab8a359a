"""Surrogates: values and scores against automatic differentiation of their definitions."""

import autograd.numpy as anp
import numpy as np
import oracles
import pytest

from steinbox.densities.gaussian import Gaussian
from steinbox.maps.coordinates import Whitened
from steinbox.numerics.kernels import IMQ
from steinbox.surrogates import FittedGaussian, Flat, Interpolant, KernelCurve
from steinbox.surrogates.base import as_builder, evaluate


@pytest.fixture
def points(rng):
    return rng.standard_normal((30, 3)) * [1, 2, 0.5] + 3


@pytest.fixture
def log_target(points):
    return -0.5 * ((points - 3) ** 2).sum(axis=1) + np.sin(points[:, 0]) - 50


@pytest.fixture
def x(rng):
    return rng.standard_normal((6, 3)) + 3


@pytest.mark.parametrize(("kernel", "oracle"), [(None, oracles.rbf), (IMQ(), oracles.imq)])
def test_kernel_curve_is_the_paper_s(kernel, oracle, points, log_target, x):
    settings = {} if kernel is None else {"kernel": kernel}
    curve = KernelCurve(bandwidth=1.5, **settings).build(points, log_target, len(points))

    def log_prob(point):
        return anp.log(sum(np.exp(v) * oracle(y, point, 1.5) for v, y in zip(log_target, points, strict=True)))

    np.testing.assert_allclose(curve.log_prob(x), [log_prob(row) for row in x], rtol=1e-12)
    np.testing.assert_allclose(curve.score(x), oracles.rowwise_gradient(log_prob, x), atol=1e-10)


def test_kernel_curve_takes_its_bandwidth_from_the_current_particles(points, log_target):
    alone = KernelCurve().build(points[:10], log_target[:10], 10)
    with_history = KernelCurve().build(points, log_target, 10)
    assert alone.bandwidth == with_history.bandwidth
    assert KernelCurve("liu-wang").build(points, log_target, 10).bandwidth == pytest.approx(2 * alone.bandwidth)


@pytest.mark.parametrize("quadratic_variance", [0.0, 3.0])
@pytest.mark.parametrize("num_history_points", [0, 20])
def test_interpolant_is_universal_kriging(num_history_points, quadratic_variance, points, log_target, x):
    """Against the textbook formula, dense: trend by generalised least squares, residual by K⁻¹."""
    num_current = 30 - num_history_points
    settings = Interpolant(length_scales=(2.0,), quadratic_variances=(quadratic_variance,))
    surrogate = settings.build(points, log_target, num_current)
    affine = Whitened().fit(points[:num_current])
    z = affine.forward(points)

    def covariance(a, b):
        return oracles.rbf(a, b, 12.0) + quadratic_variance * (anp.dot(a, b) / 3) ** 2

    gram = np.array([[covariance(a, b) for b in z] for a in z]) + 1e-6 * np.eye(30)
    features = np.array([[1, *row, row @ row] for row in z])
    inverse = np.linalg.inv(gram)
    moments = features.T @ inverse @ features
    moments += 1e-8 * np.trace(moments) / 5 * np.eye(5)
    centered = log_target - log_target.mean()
    trend = np.linalg.solve(moments, features.T @ inverse @ centered)
    coefficients = inverse @ (centered - features @ trend)
    trend[0] += log_target.mean()

    def log_prob(point):
        at = anp.dot(affine.inverse_root, point - affine.center)
        kernel = sum(c * covariance(y, at) for c, y in zip(coefficients, z, strict=True))
        return trend[0] + anp.dot(trend[1:4], at) + trend[4] * anp.dot(at, at) + kernel

    np.testing.assert_allclose(surrogate.log_prob(x), [log_prob(row) for row in x], rtol=1e-9)
    np.testing.assert_allclose(surrogate.score(x), oracles.rowwise_gradient(log_prob, x), atol=1e-7)


def test_interpolant_score_is_the_gradient_of_its_log_prob(points, log_target, x):
    surrogate = Interpolant().build(points, log_target, len(points))
    step = 1e-5
    for k in range(3):
        shift = step * np.eye(3)[k]
        difference = (surrogate.log_prob(x + shift) - surrogate.log_prob(x - shift)) / (2 * step)
        np.testing.assert_allclose(surrogate.score(x)[:, k], difference, atol=1e-6)


@pytest.mark.parametrize("length_scale", [1.0, 16.0])
def test_interpolant_finds_the_length_scale_its_values_were_drawn_with(length_scale, rng):
    points = rng.standard_normal((150, 2))
    z = Whitened().fit(points).forward(points)
    gram = np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=-1) / (2 * length_scale * 2))
    values = np.linalg.cholesky(gram + 1e-6 * np.eye(150)) @ rng.standard_normal(150)
    assert Interpolant().build(points, values, 150).process.bandwidth == 4 * length_scale


def test_interpolant_passes_through_the_values(points, log_target):
    surrogate = Interpolant().build(points, log_target, len(points))
    np.testing.assert_allclose(surrogate.log_prob(points), log_target, atol=0.05)  # the nugget, in nats


def test_interpolant_of_a_quadratic_finds_its_score_everywhere(points, rng):
    """A Gaussian with the particles' own shape is the trend alone, so that extrapolation is exact too."""
    affine = Whitened().fit(points)
    log_target = -0.5 * (affine.forward(points) ** 2).sum(axis=1)
    far = points.mean(axis=0) + 20 * rng.standard_normal((5, 3))
    surrogate = Interpolant().build(points, log_target, len(points))
    np.testing.assert_allclose(
        surrogate.score(far), affine.pull_back_score(far, -affine.forward(far)), rtol=1e-4, atol=1e-3
    )


def test_interpolant_builds_a_wall_where_the_target_ends(points):
    log_target = np.where(points[:, 0] > 3, 0.0, -np.inf)
    surrogate = Interpolant().build(points, log_target, len(points))
    border = np.column_stack([np.full(5, 3.0), np.tile(points.mean(axis=0)[1:], (5, 1))])
    assert (surrogate.score(border)[:, 0] > 0).all()


@pytest.mark.parametrize(("num_points", "dimension"), [(2, 1), (5, 3), (10, 200)])
def test_interpolant_exists_for_few_points_in_many_dimensions(num_points, dimension, rng):
    points = rng.standard_normal((num_points, dimension))
    surrogate = Interpolant().build(points, -0.5 * (points**2).sum(axis=1), num_points)
    assert np.isfinite(surrogate.score(points)).all()


def test_interpolant_leaves_out_the_oldest_points(points, log_target, x):
    capped = Interpolant(max_points=20).build(points, log_target, 10)
    alone = Interpolant().build(points[:20], log_target[:20], 10)
    np.testing.assert_array_equal(capped.log_prob(x), alone.log_prob(x))


def test_fitted_gaussian_has_the_particles_moments_inflated(points, log_target):
    log_target[3] = -np.inf
    inside = np.delete(points, 3, axis=0)
    surrogate = FittedGaussian(covariance="diagonal", inflation=2.0).build(points, log_target, len(points))
    np.testing.assert_allclose(surrogate.mean, inside.mean(axis=0))
    np.testing.assert_allclose(np.diag(surrogate.cov), 2 * inside.var(axis=0))


def test_flat_is_flat(x):
    assert not Flat().log_prob(x).any()
    assert not Flat().score(x).any()


def test_a_surrogate_of_the_user_s_own_is_checked(x):
    class Wrong:
        def log_prob(self, x):
            return np.zeros(len(x))

        def score(self, x):
            return np.zeros(len(x))

    with pytest.raises(ValueError, match=r"score to have shape \(6, 3\), got \(6,\)"):
        evaluate(Wrong(), x)
    with pytest.raises(TypeError, match=r"log_prob\(points\) and score\(points\).*got str"):
        as_builder("gaussian")
    given = Gaussian(np.zeros(3), std=1.0)
    assert as_builder(given).build(x, np.zeros(6), 6) is given
