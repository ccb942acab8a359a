"""Priors: the distributions of scipy.stats, old and new, one by one and joint, as densities with their supports."""

import numpy as np
import pytest
from scipy import stats

import steinbox as sb
from steinbox.maps.bounds import Periodic
from steinbox.model.prior import as_prior

COV = np.array([[1.0, 0.6], [0.6, 2.0]])


def test_the_density_is_the_product_of_its_factors(rng):
    joint = stats.multivariate_normal([0, 1], COV)
    prior = as_prior({"rate": stats.gamma(2), ("a", "b"): joint, "c": stats.t(4)})
    points = prior.sample(50, rng)
    expected = stats.gamma(2).logpdf(points[:, 0]) + joint.logpdf(points[:, 1:3]) + stats.t(4).logpdf(points[:, 3])
    np.testing.assert_allclose(prior.log_prob(points), expected)
    assert prior.names == ("rate", "a", "b", "c")
    assert prior.bounds == ((0.0, np.inf), None, None, (-np.inf, np.inf))
    score = prior.score(points)
    np.testing.assert_allclose(score[:, 0], 1 / points[:, 0] - 1, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(score[:, 1:3], -(points[:, 1:3] - [0, 1]) @ np.linalg.inv(COV), atol=1e-6)


def test_draws_are_those_of_the_factors(rng):
    prior = as_prior({"rate": stats.gamma(2), ("a", "b"): stats.multivariate_normal([0, 1], COV)})
    draws = prior.sample(4_000, rng)
    assert stats.kstest(draws[:, 0], stats.gamma(2).cdf).pvalue > 1e-3
    np.testing.assert_allclose(np.cov(draws[:, 1:].T), COV, atol=0.15)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (stats.Normal(mu=1.0, sigma=2.0), stats.norm(1, 2)),
        (stats.Uniform(a=1.0, b=3.0), stats.uniform(1, 2)),
        (stats.truncate(stats.Normal(), lb=0.0), stats.halfnorm()),
        (stats.make_distribution(stats.gamma)(a=2.0), stats.gamma(2)),
        (stats.exp(stats.Normal()), stats.lognorm(1)),
    ],
    ids=["normal", "uniform", "truncated", "made", "transformed"],
)
def test_the_new_interface_says_what_the_old_one_says(new, old, rng):
    ours, theirs = as_prior({"x": new}), as_prior({"x": old})
    points = theirs.sample(2_000, rng)
    np.testing.assert_allclose(ours.log_prob(points), theirs.log_prob(points), rtol=1e-9)
    np.testing.assert_allclose(ours.bounds, theirs.bounds)
    assert stats.kstest(ours.sample(2_000, rng)[:, 0], old.cdf).pvalue > 1e-3


def test_circles_are_known_and_said():
    prior = as_prior({"a": stats.vonmises(2, loc=1), "b": stats.wrapcauchy(0.5)})
    assert prior.bounds == (Periodic(-np.pi, np.pi), Periodic(0.0, 2 * np.pi))
    assert as_prior({"a": stats.uniform(0, 360)}, periodic=["a"]).bounds == (Periodic(0.0, 360.0),)
    draws = prior.sample(1_000, 0)
    assert np.isfinite(prior.log_prob(draws)).all()
    beyond = np.array([[4.0, 1.0]])
    assert prior.log_prob(beyond) == -np.inf, "the same angle must not be counted twice"


PRIORS = {
    "unbounded": {"a": stats.norm(3, 2), "b": stats.t(5)},
    "one-sided": {"a": stats.gamma(2), "b": stats.expon(loc=5)},
    "two-sided": {"a": stats.beta(2, 3), "b": stats.uniform(-3, 9)},
    "circles": {"a": stats.vonmises(1.5, loc=2), "b": stats.wrapcauchy(0.3)},
    "joint": {("a", "b"): stats.multivariate_normal([0, 1], COV), "c": stats.expon()},
    "new": {"a": stats.Normal(mu=1.0, sigma=2.0), "b": stats.truncate(stats.Normal(), lb=0.0, ub=2.0)},
    "list": [stats.norm(), stats.gamma(3)],
    "own": sb.Gaussian([0.0, 1.0], cov=COV),
    "scipy": stats.multivariate_t([0, 0], COV, df=8),
    "one": stats.lognorm(0.5),
}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_likelihood_of_one_has_the_prior_as_its_posterior_and_an_evidence_of_one(prior):
    result = sb.sample(sb.Model(lambda p: 0.0, prior=prior), num_particles=50, max_evals=2_000, seed=0)
    assert result.log_evidence == pytest.approx(0, abs=4 * result.log_evidence_error + 1e-3)
    assert result.warnings == ()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"prior": {}}, ValueError, "a prior of at least one parameter"),
        (
            {"prior": {"a": 3}},
            TypeError,
            r"expected a distribution of scipy.stats .* for a, such as stats.norm\(0, 1\)",
        ),
        ({"prior": {"a": stats.gamma}}, TypeError, "expected a distribution of scipy.stats with its parameters for a"),
        ({"prior": {"a": stats.Normal}}, TypeError, "got the class Normal; give its parameters"),
        ({"prior": {"a": stats.poisson(3)}}, TypeError, "continuous distribution for a; a discrete"),
        ({"prior": {"a": stats.Binomial(n=3, p=0.5)}}, TypeError, "continuous distribution for a; a discrete"),
        ({"prior": {"a": stats.norm([0, 1], 1)}}, TypeError, "independent parameters an entry each"),
        ({"prior": {("a", "b"): stats.norm(0, 1)}}, TypeError, "independent parameters an entry each"),
        ({"prior": {("a", "b"): stats.multivariate_normal(np.zeros(3))}}, ValueError, "of 2 parameters for .* got 3"),
        ({"prior": {("a", "b", "c"): stats.dirichlet([1, 2, 3])}}, (ValueError, TypeError), "lie in a plane"),
        ({"prior": {"a": stats.norm(), ("a", "b"): stats.multivariate_normal([0, 0])}}, ValueError, "different name"),
        ({"prior": {3: stats.norm()}}, ValueError, "different name, a text"),
        ({"prior": {"a": stats.norm()}, "names": ["a"]}, ValueError, "leave names= out"),
        ({"prior": [stats.norm()], "names": ["a", "b"]}, ValueError, "expected 1 names"),
        ({"prior": {"a": stats.norm()}, "periodic": ["b"]}, ValueError, "periodic to name parameters of the prior"),
        ({"prior": {"a": stats.norm()}, "periodic": ["a"]}, ValueError, "between two ends for the periodic a"),
        ({"prior": {"a": stats.vonmises(2, scale=3)}}, ValueError, "scale 1"),
    ],
)
def test_nonsense_is_refused_in_words(settings, error, message):
    with pytest.raises(error, match=message):
        sb.Model(lambda p: 0.0, **settings)
