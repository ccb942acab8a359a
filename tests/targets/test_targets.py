"""Targets against SciPy, automatic differentiation and their own draws."""

from itertools import product

import autograd.numpy as anp
import numpy as np
import oracles
import pytest
from scipy import stats
from scipy.integrate import quad

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


def rbm_log_prob(machine):
    """The sum over all hidden states, one by one; the normaliser from the Gaussian integral of each."""
    states = [np.array(state) for state in product([-1.0, 1.0], repeat=len(machine.hidden_bias))]
    b, c1, c2 = machine.couplings, machine.visible_bias, machine.hidden_bias
    log_normalizer = np.log(sum(np.exp(c2 @ h + 0.5 * np.sum((b @ h + c1) ** 2)) for h in states))
    constant = log_normalizer + 0.5 * len(c1) * np.log(2 * np.pi)
    return lambda x: (
        oracles.logsumexp(anp.array([x @ b @ h + c1 @ x + c2 @ h - 0.5 * anp.sum(x**2) for h in states])) - constant
    )


def funnel_log_prob(x):
    log_scale = 0.5 * x[0]
    others = sum(-0.5 * (value / anp.exp(log_scale)) ** 2 - log_scale - 0.5 * np.log(2 * np.pi) for value in x[1:])
    return -0.5 * (x[0] / 3) ** 2 - np.log(3) - 0.5 * np.log(2 * np.pi) + others


def student_t_log_prob(x):
    """Up to the constant, which SciPy brings."""
    constant = stats.multivariate_t(np.zeros(3), np.eye(3), df=7).logpdf(np.zeros(3))
    return constant - 5.0 * anp.log(1 + anp.sum(x**2) / 7)


def ring_log_prob(x):
    area = quad(lambda r: 2 * np.pi * r * np.exp(-0.5 * ((r - 1.5) / 0.6) ** 2), 0, np.inf)[0]
    return -0.5 * ((anp.sqrt(anp.sum(x**2)) - 1.5) / 0.6) ** 2 - np.log(area)


RBM = sb.paper.targets.GaussBernoulliRBM([[0.5, -0.5], [1.0, 0.5], [-0.5, 0.5]], [0.3, -0.2, 0.1], [0.5, -1.0])
MIXTURE = sb.GaussianMixture([sb.Gaussian([0, 1, 2], cov=COV), sb.Gaussian([3, 0, 0], std=[1, 2, 0.5])], [1, 2])
CASES = {
    "full": (sb.Gaussian([1, -1, 0], cov=COV), gaussian_log_prob(np.array([1, -1, 0]), COV)),
    "diagonal": (sb.Gaussian([0, 0], std=[1, 3]), gaussian_log_prob(np.zeros(2), np.diag([1.0, 9.0]))),
    "one": (sb.Gaussian(2.0, std=0.5), gaussian_log_prob(np.array([2.0]), np.array([[0.25]]))),
    "mixture": (MIXTURE, mixture_log_prob(MIXTURE)),
    "banana": (sb.targets.Banana(), banana_log_prob),
    "rbm": (RBM, rbm_log_prob(RBM)),
    "funnel": (sb.targets.Funnel(dimension=3), funnel_log_prob),
    "student t": (sb.targets.StudentT(dimension=3, dof=7.0), student_t_log_prob),
    "ring": (sb.targets.Ring(radius=1.5, width=0.6), ring_log_prob),
}
HEAVY = ("funnel",)  # a fourth moment so large that draws say little about the covariance
REGRESSION = sb.targets.LogisticRegression.synthetic(num_cases=30, dimension=3)


def test_logistic_regression_equals_the_oracle(rng):
    def log_prob(beta):
        margins = REGRESSION.labels * anp.dot(REGRESSION.features, beta)
        return -anp.sum(anp.log1p(anp.exp(-margins))) - 0.5 * anp.sum(beta**2)

    x = rng.standard_normal((9, 3))
    np.testing.assert_allclose(REGRESSION.log_prob(x), [log_prob(row) for row in x], atol=1e-12)
    np.testing.assert_allclose(REGRESSION.score(x), oracles.rowwise_gradient(log_prob, x), atol=1e-10)
    assert np.isfinite(REGRESSION.log_prob(np.full((1, 3), 1e4))).all()


def test_draws_of_the_funnel_are_its_own(rng):
    draws = sb.targets.Funnel(dimension=4).sample(100_000, rng)
    assert draws[:, 0].std() == pytest.approx(3, rel=0.01)
    np.testing.assert_allclose((draws[:, 1:] / np.exp(draws[:, :1] / 2)).std(axis=0), 1, rtol=0.01)


def test_the_papers_rbm_is_the_papers():
    machine = sb.paper.targets.paper_rbm(seed=3)
    assert machine.couplings.shape == (20, 10)
    assert set(np.unique(machine.couplings)) == {-0.5, 0.5}
    mixture_of_states = machine.sample(20_000, np.random.default_rng(0))
    np.testing.assert_allclose(mixture_of_states.mean(axis=0), machine.mean, atol=0.1)


def test_problems_of_gaussians():
    series = sb.targets.autoregressive(dimension=5)
    assert series.cov[0, 4] == pytest.approx(0.95**4)
    modes = sb.targets.separated_modes()
    assert np.linalg.norm(modes.components[0].mean - modes.components[1].mean) == pytest.approx(8)
    np.testing.assert_allclose(modes.weights, [0.7, 0.3])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: sb.paper.targets.GaussBernoulliRBM(np.ones((3, 2)), np.ones(2), np.ones(2)),
            r"got \(3, 2\), \(2,\) and",
        ),
        (
            lambda: sb.paper.targets.GaussBernoulliRBM(np.ones((1, 21)), np.ones(1), np.ones(21)),
            "at most 20 hidden units",
        ),
        (lambda: sb.targets.Funnel(dimension=1), "at least two dimensions, got 1"),
        (lambda: sb.targets.StudentT(dof=2.0), "dof above 2"),
        (lambda: sb.targets.Ring(width=0.0), "positive radius and width"),
        (lambda: sb.targets.LogisticRegression(np.ones((3, 2)), [0, 1, 1]), "labels .N,. of -1 and 1"),
    ],
)
def test_targets_refuse_nonsense_in_words(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", CASES)
def test_log_prob_and_score_equal_the_oracle(name, rng):
    distribution, log_prob = CASES[name]
    x = 2 * rng.standard_normal((9, distribution.dimension))
    np.testing.assert_allclose(distribution.log_prob(x), [log_prob(row) for row in x], atol=1e-12)
    np.testing.assert_allclose(distribution.score(x), oracles.rowwise_gradient(log_prob, x), atol=1e-10)


@pytest.mark.parametrize("name", [name for name in CASES if name != "rbm"])
def test_a_generator_may_be_a_seed_or_nothing(name):
    """As SPEC 7 has it: a generator, what makes one, or None."""
    distribution, _ = CASES[name]
    np.testing.assert_array_equal(distribution.sample(5, 3), distribution.sample(5, np.random.default_rng(3)))
    assert distribution.sample(5).shape == (5, distribution.dimension)


@pytest.mark.parametrize("name", [name for name in CASES if name not in HEAVY])
def test_draws_have_the_stated_moments(name, rng):
    distribution, _ = CASES[name]
    draws = distribution.sample(200_000, rng)
    scale = np.sqrt(np.diag(distribution.cov))
    np.testing.assert_allclose(draws.mean(axis=0) / scale, distribution.mean / scale, atol=5 / np.sqrt(200_000))
    np.testing.assert_allclose(
        np.cov(draws.T) / np.outer(scale, scale), distribution.cov / np.outer(scale, scale), atol=0.03
    )


def test_paper_gmm_is_the_paper_s():
    target = sb.paper.targets.paper_gmm(seed=3)
    means = np.stack([component.mean for component in target.components])
    assert means.shape == (10, 25)
    assert np.abs(means).max() <= 1
    np.testing.assert_array_equal(target.components[4].cov, np.eye(25))
    np.testing.assert_allclose(target.weights, 0.1)
    np.testing.assert_allclose(sb.paper.targets.paper_gaussian().cov, 2 * np.eye(2))


@pytest.mark.parametrize(
    ("initial", "dimension", "bounds", "variance"),
    [
        (sb.paper.targets.paper_gmm_initial, 25, (-1, 1), 4),
        (sb.paper.targets.paper_rbm_initial, 20, (1, 2), 3),
        (sb.paper.targets.paper_gp_initial, 9, (-1, 1), 3),
    ],
)
def test_the_paper_s_initial_distributions(initial, dimension, bounds, variance):
    distribution = initial(seed=3)
    assert bounds[0] <= distribution.mean.min() < distribution.mean.max() <= bounds[1]
    np.testing.assert_allclose(distribution.cov, variance * np.eye(dimension))
    assert not np.array_equal(initial(seed=4).mean, distribution.mean)
    means = [component.mean for component in sb.paper.targets.paper_gmm(seed=3).components]
    assert np.abs(np.array(means)[:, :9] - distribution.mean[:9]).max(axis=1).min() > 0.1, "independent of the target"


def test_the_paper_s_surrogate_of_the_gaussian():
    surrogate = sb.paper.targets.paper_gaussian_surrogate(squared_distance=8, variance=6)
    assert (surrogate.mean**2).sum() == pytest.approx(8)
    np.testing.assert_allclose(surrogate.cov, 6 * np.eye(2))
