"""The Gaussian process against scikit-learn, the normal density, refits without a point, and finite differences."""

import weakref

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels

from steinbox.numerics.gaussian_process import GaussianProcess, bandwidths_of, fit_best
from steinbox.numerics.kernels import IMQ, RBF
from steinbox.numerics.trend import IsotropicQuadratic

BANDWIDTH, NUGGET = 6.0, 1e-4
FEATURES = IsotropicQuadratic().features


def function(z):
    return np.sin(z).sum(axis=1) + 0.1 * (z**2).sum(axis=1) - 700


@pytest.fixture
def z(rng):
    return rng.standard_normal((40, 3))


@pytest.fixture
def values(z, rng):
    return function(z) + 0.05 * rng.standard_normal(len(z))


@pytest.fixture
def process(z, values):
    return GaussianProcess.fit(z, values, BANDWIDTH, NUGGET)


@pytest.fixture
def new(rng):
    return rng.standard_normal((15, 3))


def sklearn_process(process, points, residuals):
    """The same process without the trend, the variance and both settings given."""
    kernel = process.scale * sklearn_kernels.RBF(np.sqrt(process.bandwidth / 2))
    kernel += sklearn_kernels.WhiteKernel(process.scale * process.nugget)
    return GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(points, residuals)


def differences(function, z, step=1e-5):
    """Central differences of a function of many points, along each coordinate."""
    shifts = step * np.eye(z.shape[1])
    return np.column_stack([(function(z + shift) - function(z - shift)) / (2 * step) for shift in shifts])


def test_mean_and_variance_are_those_of_scikit_learn(process, z, values, new):
    beta = process.trend_coefficients
    theirs = sklearn_process(process, z, values - FEATURES(z) @ beta)
    expected, deviation = theirs.predict(new, return_std=True)
    mean, variance = process.predict(new)
    np.testing.assert_allclose(mean, expected + FEATURES(new) @ beta, rtol=1e-10)
    np.testing.assert_allclose(variance, deviation**2, rtol=1e-5)


def test_the_likelihood_is_that_of_scikit_learn(process, z, values):
    theirs = sklearn_process(process, z, values - FEATURES(z) @ process.trend_coefficients)
    constant = -0.5 * len(z) * (1 + np.log(2 * np.pi))
    assert process.log_likelihood() + constant == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-8)


def test_trend_and_likelihood_are_those_of_the_normal_distribution(process, z, values):
    """The trend by the textbook; with the noise known the density itself, else its largest over all variances."""
    gram = np.exp(-((z[:, None] - z) ** 2).sum(axis=-1) / BANDWIDTH) + NUGGET * np.eye(len(z))
    inverse, features = np.linalg.inv(gram), FEATURES(z)
    beta = np.linalg.solve(features.T @ inverse @ features, features.T @ inverse @ values)
    np.testing.assert_allclose(process.trend_coefficients, beta, rtol=1e-4, atol=1e-4)
    constant = -0.5 * len(z) * np.log(2 * np.pi)
    exact = multivariate_normal(features @ beta, 0.5**2 / NUGGET * gram).logpdf(values)
    assert process.log_likelihood(noise=0.5) + constant == pytest.approx(exact, rel=1e-6)
    variances = process.scale * np.geomspace(0.5, 2.0, 401)
    best = max(multivariate_normal(features @ beta, variance * gram).logpdf(values) for variance in variances)
    assert process.log_likelihood() + constant - 0.5 * len(z) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("quadratic_variance", [0.0, 2.0])
@pytest.mark.parametrize("kernel", [RBF(), IMQ()])
def test_slopes_are_the_gradients_of_the_mean(kernel, quadratic_variance, z, values, new):
    process = GaussianProcess.fit(z, values, BANDWIDTH, NUGGET, kernel=kernel, quadratic_variance=quadratic_variance)
    mean, slopes = process.mean_and_slopes(new)
    np.testing.assert_allclose(mean, process.predict(new)[0], rtol=1e-12)
    np.testing.assert_allclose(slopes, differences(lambda at: process.predict(at)[0], new), atol=1e-5)


def test_a_quadratic_form_is_features_with_normal_coefficients(z, values, new):
    """Against the same process with its products of two coordinates drawn as features: mean, variance, likelihood."""
    process = GaussianProcess.fit(z, values, BANDWIDTH, NUGGET, quadratic_variance=2.0)
    both = np.concatenate([z, new])
    products = np.einsum("ni,nj->nij", both, both).reshape(len(both), -1) / 3
    gram = np.exp(-((both[:, None] - both) ** 2).sum(axis=-1) / BANDWIDTH) + 2.0 * products @ products.T
    gram += NUGGET * np.eye(len(both))
    known, rest = gram[:40, :40], values - FEATURES(z) @ process.trend_coefficients
    solved = np.linalg.solve(known, gram[:40, 40:])
    mean, variance = process.predict(new)
    np.testing.assert_allclose(mean, FEATURES(new) @ process.trend_coefficients + rest @ solved, rtol=1e-9)
    explained = np.einsum("ij,ij->j", gram[:40, 40:], solved)
    np.testing.assert_allclose(variance, process.scale * (np.diag(gram)[40:] - explained), rtol=1e-5)
    exact = multivariate_normal(cov=process.scale * known).logpdf(rest)
    assert process.log_likelihood() - 20 * (1 + np.log(2 * np.pi)) == pytest.approx(exact, rel=1e-8)


def test_a_quadratic_form_is_learned_from_fewer_values_than_it_has_coefficients(rng):
    """Of 30 dimensions from 300 values, of 496 coefficients: better than without, and chosen by likelihood."""
    z = rng.standard_normal((300, 30))
    precision = np.eye(30) + 0.7 * (np.eye(30, k=1) + np.eye(30, k=-1))
    values = -0.5 * np.einsum("ni,ij,nj->n", z, precision, z)
    bandwidths = bandwidths_of((1, 4, 16), 30)
    best, without = (
        fit_best(z, values, bandwidths, (1e-6,), GaussianProcess.log_likelihood, quadratic_variances=variances)
        for variances in ((0.0, 1.0, 100.0), (0.0,))
    )
    errors = [np.mean((process.mean_and_slopes(z)[1] + z @ precision) ** 2) for process in (best, without)]
    assert best.quadratic_variance > 0
    assert errors[0] < 0.8 * errors[1]


def test_leave_one_out_is_the_process_without_the_point_around_the_same_trend(process, z, values):
    """Against scikit-learn, fitted to the residuals of the others."""
    trend = FEATURES(z) @ process.trend_coefficients
    residuals, variances = process.leave_one_out()
    for i in range(len(z)):
        others = np.arange(len(z)) != i
        theirs = sklearn_process(process, z[others], (values - trend)[others])
        mean, deviation = theirs.predict(z[[i]], return_std=True)
        assert values[i] - residuals[i] == pytest.approx(trend[i] + mean[0], rel=1e-9)
        assert variances[i] == pytest.approx(deviation[0] ** 2, rel=1e-6)


def refits(z, values, kernel, quadratic_variance):
    """For each point the process of the others, and its unscaled variance: with the uncertainty of the trend."""

    def without(i):
        others = np.delete(z, i, axis=0)
        settings = {"kernel": kernel, "quadratic_variance": quadratic_variance}
        process = GaussianProcess.fit(others, np.delete(values, i), BANDWIDTH, NUGGET, **settings)

        def gram(a, b):
            return (
                kernel.value(((a[:, None] - b) ** 2).sum(axis=-1) / BANDWIDTH)
                + quadratic_variance * (a @ b.T / a.shape[1]) ** 2
            )

        inverse, features = np.linalg.inv(gram(others, others) + NUGGET * np.eye(len(others))), FEATURES(others)
        moments = np.linalg.inv(features.T @ inverse @ features)

        def variance(at):
            cross = gram(others, at)
            rest = FEATURES(at).T - features.T @ inverse @ cross
            explained = np.einsum("ij,ij->j", cross, inverse @ cross)
            own = np.array([gram(row[None], row[None])[0, 0] for row in at])
            return own + NUGGET - explained + np.einsum("ij,ij->j", rest, moments @ rest)

        return process, variance

    return [without(i) for i in range(len(z))]


@pytest.mark.parametrize(("kernel", "quadratic_variance"), [(RBF(), 0.0), (IMQ(), 0.0), (RBF(), 2.0)])
def test_cross_validation_is_refitting_everything_without_the_point(kernel, quadratic_variance, z, values):
    process = GaussianProcess.fit(z, values, BANDWIDTH, NUGGET, kernel=kernel, quadratic_variance=quadratic_variance)
    left_out = process.cross_validation
    others = refits(z, values, kernel, quadratic_variance)
    rows = [z[[i]] for i in range(len(z))]
    means = np.array([other.predict(row)[0][0] for (other, _), row in zip(others, rows, strict=True)])
    variances = np.array([variance(row)[0] for (_, variance), row in zip(others, rows, strict=True)])
    np.testing.assert_allclose(left_out.residuals, values - means, rtol=1e-4, atol=1e-7)
    scale = ((values - means) ** 2 / variances).mean()
    np.testing.assert_allclose(left_out.variances, scale * variances, rtol=1e-4)

    def surrogate(i, factor):
        other, variance = others[i]
        return lambda at: other.predict(at)[0] - factor * scale * variance(at)

    for factor in (0.0, 1.5):
        slopes = [differences(surrogate(i, factor), row)[0] for i, row in enumerate(rows)]
        np.testing.assert_allclose(process.cross_validated_slopes(factor), slopes, rtol=1e-3, atol=1e-4)


def test_re_estimating_the_trend_makes_the_errors_larger(process):
    """P = K⁻¹ − (something positive): a trend that saw the point is too close to it."""
    assert (np.abs(process.cross_validation.residuals) >= np.abs(process.leave_one_out()[0])).all()


def test_many_points_are_predicted_in_tiles(process, new, monkeypatch):
    whole = process.predict(new)
    monkeypatch.setattr("steinbox.numerics.gaussian_process._TILE_POINTS", 4)
    np.testing.assert_allclose(process.predict(new), whole, rtol=1e-10, atol=1e-12)


def test_errors_are_as_large_as_predicted(rng):
    z, new = rng.standard_normal((120, 3)), rng.standard_normal((500, 3))
    process = fit_best(z, function(z), bandwidths_of((0.25, 1, 4, 16), 3), (1e-6,), GaussianProcess.log_likelihood)
    mean, variance = process.predict(new)
    assert 0.2 < np.mean((mean - function(new)) ** 2 / variance) < 5


@pytest.mark.parametrize(("num_points", "dimension"), [(3, 1), (4, 10), (10, 200)])
def test_a_trend_of_more_features_than_points_is_finite_and_moderate(num_points, dimension, rng):
    z = rng.standard_normal((num_points, dimension))
    process = GaussianProcess.fit(z, function(z), 2.0 * dimension, 1e-6)
    np.testing.assert_allclose(process.mean_and_slopes(z)[0], function(z), atol=1e-3)
    assert np.isfinite(process.mean_and_slopes(z)[1]).all()
    assert np.abs(process.trend_coefficients[1:]).max() < 2  # without the ridge 3 and 46 in ten and 200 dimensions


def test_a_covariance_that_is_not_positive_has_a_mean_but_no_likelihood_and_no_variance(z, values, new):
    process = GaussianProcess.fit(z, values, BANDWIDTH, -1e-3)
    assert process.root is None
    assert process.log_likelihood() == -np.inf
    np.testing.assert_allclose(process.mean_and_slopes(z)[0], values, atol=1.0)
    assert np.isfinite(process.cross_validated_slopes(1.0)).all()
    with pytest.raises(ValueError, match="not positive definite has no variances"):
        process.predict(new)


@pytest.mark.parametrize(("length_scale", "nugget"), [(1.0, 1e-2), (16.0, 1e-6)])
def test_the_likelihood_finds_the_settings_that_values_were_drawn_with(length_scale, nugget, rng):
    z = rng.standard_normal((150, 2))
    gram = np.exp(-((z[:, None] - z) ** 2).sum(axis=-1) / (2 * length_scale * 2)) + nugget * np.eye(150)
    values = np.linalg.cholesky(gram) @ rng.standard_normal(150)
    bandwidths = bandwidths_of((1.0, 4.0, 16.0), 2)
    best = fit_best(z, values, bandwidths, (1e-6, 1e-4, 1e-2), GaussianProcess.log_likelihood)
    assert (best.bandwidth, best.nugget) == (4 * length_scale, nugget)


def test_the_best_is_the_fit_with_the_largest_criterion_the_first_of_equals(z, values):
    alone = GaussianProcess.fit(z, values, 8.0, NUGGET)
    best = fit_best(z, values, [2.0, 8.0], [NUGGET, 1e-2], lambda process: process.bandwidth)
    assert (best.bandwidth, best.nugget) == (8.0, NUGGET)
    np.testing.assert_array_equal(best.coefficients, alone.coefficients)


def test_a_process_is_freed_as_soon_as_it_is_left(z, values):
    """Of a thousand points it holds megabytes: no reference cycle may keep it until the next garbage collection."""
    process = GaussianProcess.fit(z, values, BANDWIDTH, NUGGET)
    process.cross_validated_slopes()
    alive = weakref.ref(process)
    del process
    assert alive() is None
