"""Gaussian, mixture and targets against SciPy, automatic differentiation and their own draws."""

import autograd.numpy as anp
import numpy as np
import oracles
import pytest
from scipy import stats

import steinbox as sb

COV = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.2], [0.0, -0.2, 0.5]])


def gaussian_log_prob(mean, cov):
    precision, (_, log_determinant) = np.linalg.inv(cov), np.linalg.slogdet(2 * np.pi * cov)
    return lambda x: -0.5 * (x - mean) @ precision @ (x - mean) - 0.5 * log_determinant


def mixture_log_prob(mixture):
    terms = [gaussian_log_prob(component.mean, component.cov) for component in mixture.components]
    return lambda x: oracles.logsumexp(anp.array([term(x) for term in terms]) + np.log(mixture.weights))


def banana_log_prob(x):
    return stats.norm.logpdf(0) * 2 - 0.5 * x[0] ** 2 / 4 - 0.5 * (x[1] - (x[0] ** 2 - 4) / 2) ** 2 / 0.25


MIXTURE = sb.GaussianMixture([sb.Gaussian([0, 1, 2], cov=COV), sb.Gaussian([3, 0, 0], std=[1, 2, 0.5])], [1, 2])
CASES = {
    "full": (sb.Gaussian([1, -1, 0], cov=COV), gaussian_log_prob(np.array([1, -1, 0]), COV)),
    "diagonal": (sb.Gaussian([0, 0], std=[1, 3]), gaussian_log_prob(np.zeros(2), np.diag([1.0, 9.0]))),
    "one": (sb.Gaussian(2.0, std=0.5), gaussian_log_prob(np.array([2.0]), np.array([[0.25]]))),
    "mixture": (MIXTURE, mixture_log_prob(MIXTURE)),
    "banana": (sb.targets.Banana(), banana_log_prob),
}


@pytest.mark.parametrize("name", CASES)
def test_log_prob_and_score_equal_the_oracle(name, rng):
    distribution, log_prob = CASES[name]
    x = 2 * rng.standard_normal((9, distribution.dimension))
    np.testing.assert_allclose(distribution.log_prob(x), [log_prob(row) for row in x], atol=1e-12)
    np.testing.assert_allclose(distribution.score(x), oracles.rowwise_gradient(log_prob, x), atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_stated_moments(name, rng):
    distribution, _ = CASES[name]
    draws = distribution.sample(200_000, rng)
    scale = np.sqrt(np.diag(distribution.cov))
    np.testing.assert_allclose(draws.mean(axis=0) / scale, distribution.mean / scale, atol=5 / np.sqrt(200_000))
    np.testing.assert_allclose(
        np.cov(draws.T) / np.outer(scale, scale), distribution.cov / np.outer(scale, scale), atol=0.03
    )


def test_paper_gmm_is_the_paper_s():
    target = sb.targets.paper_gmm(seed=3)
    means = np.stack([component.mean for component in target.components])
    assert means.shape == (10, 25)
    assert np.abs(means).max() <= 1
    np.testing.assert_array_equal(target.components[4].cov, np.eye(25))
    np.testing.assert_allclose(target.weights, 0.1)
    np.testing.assert_allclose(sb.targets.paper_gaussian().cov, 2 * np.eye(2))


@pytest.mark.parametrize("covariance", ["full", "diagonal", "isotropic"])
def test_fit_recovers_the_moments(covariance, rng):
    points = sb.Gaussian([1, -1, 0], cov=COV).sample(100_000, rng)
    fitted = sb.Gaussian.fit(points, covariance=covariance)
    expected = {"full": COV, "diagonal": np.diag(np.diag(COV)), "isotropic": np.trace(COV) / 3 * np.eye(3)}
    np.testing.assert_allclose(fitted.mean, [1, -1, 0], atol=0.02)
    np.testing.assert_allclose(fitted.cov, expected[covariance], atol=0.03)


def test_fit_takes_weights_and_few_points(rng):
    weighted = sb.Gaussian.fit(np.array([[0.0], [1.0], [5.0]]), weights=np.array([0.5, 0.5, 0.0]))
    assert weighted.mean[0] == 0.5
    assert weighted.cov[0, 0] == pytest.approx(0.25)
    assert np.linalg.eigvalsh(sb.Gaussian.fit(rng.standard_normal((5, 20))).cov)[0] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mean": [0, 0]}, "exactly one of std= .* and cov="),
        ({"mean": [0, 0], "std": 1, "cov": np.eye(2)}, "exactly one"),
        ({"mean": [0, 0], "std": [1, 2, 3]}, r"a number or shape \(2,\), got shape \(3,\)"),
        ({"mean": [0, 0], "std": -1}, "positive std"),
        ({"mean": [0, np.nan], "std": 1}, "finite mean"),
        ({"mean": [0, 0], "cov": [[1, 2], [2, 1]]}, "positive definite cov; its smallest eigenvalue is -1"),
        ({"mean": [0, 0], "cov": np.eye(3)}, r"shape \(2, 2\), got shape \(3, 3\)"),
        ({"mean": [0, 0], "cov": [[1, 2], [0, 1]]}, "symmetric"),
    ],
)
def test_gaussian_refuses_nonsense_in_words(arguments, message):
    with pytest.raises(ValueError, match=message):
        sb.Gaussian(arguments.pop("mean"), **arguments)


def test_mixture_refuses_nonsense_in_words():
    with pytest.raises(ValueError, match="same dimension"):
        sb.GaussianMixture([sb.Gaussian(0, std=1), sb.Gaussian([0, 0], std=1)])
    with pytest.raises(ValueError, match="1 positive weights"):
        sb.GaussianMixture([sb.Gaussian(0, std=1)], weights=[-1])
