"""The regression of log p that the adaptive sampler chooses particles by when evaluations are few."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import steinbox as sb
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.samplers.adaptive.surrogate_density import SurrogateDensity, fit_regression

FAMILY = CurvedMixtures()


def fitted_to(points, rng):
    return FAMILY.choose(WeightedPoints(points, np.full(len(points), 1 / len(points)), len(points)), rng).density


def trend(regression, points):
    process = regression.process
    return process.trend.features(regression.coordinates.forward(points)) @ process.trend_coefficients


def sklearn_kernel(process):
    return ConstantKernel(process.scale) * RBF(np.sqrt(process.bandwidth / 2)) + WhiteKernel(
        process.scale * process.nugget
    )


@pytest.fixture
def regressed(rng):
    points = rng.standard_normal((120, 3))
    values = np.sin(2 * points).sum(axis=1) - (points**4).sum(axis=1) / 20
    return points, values, fit_regression(points, values, fitted_to(points, rng))


def test_mean_and_variance_are_those_of_the_process(regressed, rng):
    """Against scikit-learn, which is given trend, base and all settings."""
    points, values, mine = regressed
    base = (lambda x: 0.0) if mine.base is None else mine.base.log_prob
    explained = base(points) + trend(mine, points)
    kernel = sklearn_kernel(mine.process)
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
    theirs.fit(mine.coordinates.forward(points), values - explained)
    x = rng.standard_normal((30, 3))
    mean, sd = theirs.predict(mine.coordinates.forward(x), return_std=True)
    explained = base(x) + trend(mine, x)
    found, variance = mine.predict(x)
    np.testing.assert_allclose(found, explained + mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, sd**2, rtol=1e-3, atol=1e-9)


def test_it_passes_through_the_values_and_is_unsure_far_away(regressed):
    points, values, mine = regressed
    mean, variance = mine.predict(points)
    np.testing.assert_allclose(mean, values, atol=0.02)
    assert mine.predict(points + 100)[1].min() > 1e3 * np.median(variance)


def test_errors_are_as_large_as_predicted(regressed, rng):
    """Of 500 new points, the mean square of errors in units of their own standard deviation."""
    _, _, mine = regressed
    x = rng.standard_normal((500, 3))
    mean, variance = mine.predict(x)
    errors = mean - np.sin(2 * x).sum(axis=1) + (x**4).sum(axis=1) / 20
    assert 0.3 < np.mean(errors**2 / variance) < 3
    assert np.mean(errors**2) < 0.5 * np.var(np.sin(2 * x).sum(axis=1))


def test_what_the_mixture_explains_is_left_to_it(rng):
    modes = sb.targets.separated_modes(6, distance=10.0, share=0.5)
    points = modes.sample(400, rng)
    sample = WeightedPoints(points, np.full(400, 1 / 400), 400)
    mixture = FAMILY.choose(sample, rng, FAMILY.choose(sample, rng)).density
    assert mixture.num_components > 1

    def log_prob(x):
        return mixture.log_prob(x) + 0.1 * np.sin(x[:, 0] / 3)

    mine = fit_regression(points, log_prob(points), mixture)
    assert mine.base is mixture
    x = modes.sample(100, rng)
    np.testing.assert_allclose(mine.predict(x)[0], log_prob(x), atol=0.05)


def test_a_covariance_that_is_not_positive_is_no_regression(rng, monkeypatch):
    points = np.repeat(rng.standard_normal((20, 2)), 3, axis=0)
    mixture = fitted_to(points, rng)
    assert fit_regression(points, points.sum(axis=1), mixture) is not None, "copies of points do no harm"
    monkeypatch.setattr("steinbox.samplers.adaptive.surrogate_density._NUGGETS", (-1e-3,))
    assert fit_regression(points, points.sum(axis=1), mixture) is None


def test_leave_one_out_is_the_prediction_without_the_value(regressed):
    """Against a process that was fitted without it, with the same trend, base and settings."""
    points, values, mine = regressed
    z = mine.coordinates.forward(points)
    explained = trend(mine, points) + (0.0 if mine.base is None else mine.base.log_prob(points))
    kernel = sklearn_kernel(mine.process)
    mean, variance = mine.leave_one_out(values)
    for i in (0, 17, 119):
        others = np.arange(len(z)) != i
        process = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
        process.fit(z[others], (values - explained)[others])
        expected, sd = process.predict(z[[i]], return_std=True)
        assert mean[i] == pytest.approx(explained[i] + expected[0], rel=1e-6, abs=1e-7)
        assert variance[i] == pytest.approx(sd[0] ** 2, rel=1e-3)


def test_the_density_is_leave_one_out_at_training_points_and_the_prediction_elsewhere(regressed, rng):
    points, values, mine = regressed
    density = SurrogateDensity.of(mine, points, values, log_evidence=2.0)
    new = rng.standard_normal((5, 3))
    expected = [np.subtract(*mine.leave_one_out(values)), np.subtract(*mine.predict(new))]
    np.testing.assert_allclose(
        density.log_prob(np.concatenate([points, new])), np.concatenate(expected) - 2.0, rtol=1e-9
    )
    assert density.log_prob(points).std() > 0
    assert (np.abs(density.log_prob(points) + 2.0 - values) > 1e-3).mean() > 0.5, (
        "the process itself passes through them"
    )
