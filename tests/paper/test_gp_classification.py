"""The Gaussian process classifier: against a peer, its equations and quadrature."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessClassifier, kernels

import steinbox as sb
from steinbox.paper.targets.gp_approximations import ApproximationError, tilted_moments, with_sites
from steinbox.paper.targets.gp_classification import log_likelihoods

EP, LAPLACE = sb.paper.targets.ExpectationPropagation(num_sweeps=100, tolerance=1e-9), sb.paper.targets.Laplace()


@pytest.fixture
def problem(rng):
    features = rng.standard_normal((40, 3))
    labels = np.where(features[:, 0] + 0.5 * features[:, 1] ** 2 + 0.5 * rng.standard_normal(40) > 0.3, 1.0, -1.0)
    return sb.paper.targets.GPClassification(features, labels, seed=0)


@pytest.fixture
def covariance(problem):
    return problem.covariance(np.array([0.2, 0.5, 1.0]))


def test_the_covariance_is_that_of_the_paper(problem):
    theta = np.array([0.2, -0.5, 1.0])
    difference = (problem.features[3] - problem.features[7]) / np.exp(theta)
    covariance = problem.covariance(theta)
    assert covariance[3, 7] == pytest.approx(np.exp(-0.5 * difference @ difference))
    np.testing.assert_allclose(np.diag(covariance), 1 + problem.ridge)


def test_sites_are_the_gaussian_they_stand_for(covariance, rng):
    precision, shift = rng.uniform(0.05, 2, 40), rng.standard_normal(40)
    sites = with_sites(covariance, precision, shift)
    full = np.linalg.inv(np.linalg.inv(covariance) + np.diag(precision))
    np.testing.assert_allclose(sites.mean, full @ shift, atol=1e-9)
    np.testing.assert_allclose(sites.variances, np.diag(full), atol=1e-9)
    draws = sites.mean + sites.deviations(rng.standard_normal((100_000, 40)))
    np.testing.assert_allclose(np.cov(draws.T), full, atol=0.02)
    f = draws[:5]
    expected = multivariate_normal(np.zeros(40), covariance).logpdf(f) - multivariate_normal(sites.mean, full).logpdf(f)
    np.testing.assert_allclose(sites.log_prior_ratio(f), expected, atol=1e-6)


def test_laplace_is_that_of_scikit_learn(problem, covariance):
    theta = np.array([0.2, 0.5, 1.0])
    kernel = kernels.RBF(np.exp(theta)) + kernels.WhiteKernel(problem.ridge)
    theirs = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=100).fit(
        problem.features, problem.labels
    )
    sites = LAPLACE(covariance, problem.labels)
    np.testing.assert_allclose(sites.mean, theirs.base_estimator_.f_cached, atol=1e-5)
    log_marginal = log_expit(problem.labels * sites.mean).sum() + sites.log_prior_ratio(sites.mean[None])[0]
    full = np.linalg.inv(np.linalg.inv(covariance) + np.diag(sites.precision))
    at_mode = multivariate_normal(np.zeros(40), covariance).logpdf(sites.mean)
    expected = log_expit(problem.labels * sites.mean).sum() + at_mode + 0.5 * np.linalg.slogdet(2 * np.pi * full)[1]
    assert log_marginal == pytest.approx(expected, abs=1e-6)
    assert log_marginal == pytest.approx(theirs.log_marginal_likelihood(), abs=1e-4)


def test_laplace_is_at_the_mode(problem, covariance):
    sites = LAPLACE(covariance, problem.labels)
    gradient = problem.labels * expit(-problem.labels * sites.mean) - np.linalg.solve(covariance, sites.mean)
    np.testing.assert_allclose(gradient, 0, atol=1e-4)
    np.testing.assert_allclose(sites.precision, expit(sites.mean) * expit(-sites.mean), atol=1e-6)


def test_expectation_propagation_satisfies_its_own_equations(problem, covariance):
    """The moments of cavity times likelihood, by a fine grid, are those of the approximation."""
    sites = EP(covariance, problem.labels)
    full = np.linalg.inv(np.linalg.inv(covariance) + np.diag(sites.precision))
    grid = np.linspace(-30, 30, 20_001)
    for i in range(0, 40, 7):
        cavity_precision = 1 / full[i, i] - sites.precision[i]
        cavity_mean = (sites.mean[i] / full[i, i] - sites.shift[i]) / cavity_precision
        log_weights = log_expit(problem.labels[i] * grid) - 0.5 * cavity_precision * (grid - cavity_mean) ** 2
        weights = np.exp(log_weights - logsumexp(log_weights))
        mean = weights @ grid
        assert sites.mean[i] == pytest.approx(mean, abs=1e-5)
        assert full[i, i] == pytest.approx(weights @ (grid - mean) ** 2, rel=1e-5)
    assert sites.precision.min() > 0


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_tilted_moments_against_a_grid(label):
    grid = np.linspace(-60, 60, 40_001)
    for mean, variance in [(0.0, 1.0), (-3.0, 0.2), (2.0, 2.0), (8.0, 1.0)]:
        log_weights = log_expit(label * grid) - 0.5 * (grid - mean) ** 2 / variance
        weights = np.exp(log_weights - logsumexp(log_weights))
        expected = weights @ grid, weights @ (grid - weights @ grid) ** 2
        ours = tilted_moments(np.array([mean]), np.array([variance]), np.array([label]))
        np.testing.assert_allclose(np.concatenate(ours), expected, rtol=2e-4)


@pytest.mark.parametrize("approximation", [sb.paper.targets.ExpectationPropagation(), LAPLACE])
def test_the_estimate_is_unbiased_on_a_problem_small_enough_for_quadrature(approximation):
    features, labels, theta = np.array([[0.0], [0.7]]), np.array([1.0, -1.0]), np.array([0.3])
    target = sb.paper.targets.GPClassification(features, labels, approximation=approximation, num_samples=4)
    precision = np.linalg.inv(target.covariance(theta))
    normalizer = 2 * np.pi * np.sqrt(np.linalg.det(target.covariance(theta)))

    line, width = np.linspace(-9, 9, 361, retstep=True)  # a sum over a grid is all but exact for so smooth a function
    f = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    log_integrand = log_expit(labels * f).sum(axis=1) - 0.5 * np.sum(f @ precision * f, axis=1)
    exact = np.exp(log_integrand).sum() * width**2 / normalizer
    many = np.exp(target.log_prob(np.tile(theta, (4000, 1))) - target.prior.log_prob(theta[None]))
    assert abs(many.mean() - exact) < 4 * many.std() / np.sqrt(len(many))
    assert many.std() / many.mean() < 0.2


def test_both_proposals_estimate_the_same_density(problem):
    theta = np.array([[0.2, 0.5, 1.0], [1.0, 1.0, 2.0], [-1.0, 3.0, 0.0]])
    settings = {"num_samples": 20_000, "seed": 1}
    by_ep = sb.paper.targets.GPClassification(problem.features, problem.labels, **settings).estimate(theta)
    by_laplace = sb.paper.targets.GPClassification(
        problem.features, problem.labels, approximation=LAPLACE, **settings
    ).estimate(theta)
    errors = np.hypot(by_ep.standard_error, by_laplace.standard_error)
    assert np.all(np.abs(by_ep.log_prob - by_laplace.log_prob) < 4 * errors)


@pytest.mark.parametrize("num_labels", [1, 214, 1000, 2500])
def test_likelihoods_as_products_are_the_sums_of_logarithms(rng, num_labels):
    margins = rng.standard_normal((5, num_labels)) * np.array([0.0, 1e-9, 1.0, 100.0, 1e4])[:, None]
    np.testing.assert_allclose(log_likelihoods(margins), log_expit(margins).sum(axis=1), rtol=1e-12, atol=1e-12)


def test_the_reported_noise_is_the_noise(problem):
    theta = np.tile([0.2, 0.5, 1.0], (400, 1))
    noisy = sb.paper.targets.GPClassification(problem.features, problem.labels, num_samples=200)
    estimate = noisy.estimate(theta)
    reported = np.sqrt((estimate.standard_error**2).mean())
    assert reported == pytest.approx(estimate.log_prob.std(), rel=0.25)
    assert estimate.log_prob.std() > 0


def test_common_random_numbers_make_it_a_function(problem):
    theta = np.array([[0.2, 0.5, 1.0], [0.2, 0.5, 1.0]])
    first, second = problem.log_prob(theta)
    assert first == second == problem.log_prob(theta[:1])[0]
    nearby = problem.log_prob(theta[:1] + 1e-6)[0]
    assert nearby == pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize("approximation", [sb.paper.targets.ExpectationPropagation(), EP, LAPLACE])
def test_it_survives_the_whole_prior(approximation, rng):
    """Draws of a prior twice as wide, equal rows and separable labels: no failure, no NaN."""
    features = rng.standard_normal((60, 4))
    features[1] = features[0]
    labels = np.sign(features[:, 0])
    target = sb.paper.targets.GPClassification(features, labels, approximation=approximation)
    values = target.log_prob(2 * np.sqrt(5) * rng.standard_normal((40, 4)))
    assert np.isfinite(values).all()
    assert target.num_failures == 0


def test_where_no_approximation_is_found_the_density_is_zero_and_it_is_counted(problem):
    def failing(covariance, labels):
        raise ApproximationError("no")

    target = sb.paper.targets.GPClassification(problem.features, problem.labels, approximation=failing)
    assert np.all(target.log_prob(np.zeros((3, 3))) == -np.inf)
    assert target.num_failures == 3
    impatient = sb.paper.targets.ExpectationPropagation(num_sweeps=1, tolerance=1e-9)
    with pytest.raises(ApproximationError, match="did not converge in 1 sweeps"):
        impatient(problem.covariance(np.zeros(3)), problem.labels)


def test_nonsense_is_refused_in_words():
    with pytest.raises(ValueError, match="labels .N,. of -1 and 1"):
        sb.paper.targets.GPClassification(np.ones((3, 2)), [0, 1, 1])
    with pytest.raises(ValueError, match="an even number, got 5"):
        sb.paper.targets.GPClassification(np.ones((2, 2)), [-1, 1], num_samples=5)
