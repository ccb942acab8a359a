"""Real posteriors: the reference satisfies Stein's identities, one log Z is known exactly, NumPy and JAX agree."""

import numpy as np
import pytest
from datasets import with_intercept
from posteriors import NAMES, find_posterior
from real_cases import cases, reference
from scipy.integrate import quad
from scipy.special import logsumexp

every_posterior = pytest.mark.parametrize("name", NAMES)
MAX_ERRORS = 4.5  # in standard errors; 2 d identities of 16 posteriors, of which the largest is about 3.5 by chance


def stein_errors(log_prob, draws, mean, sd):
    """The deviations from E[s] = 0 and E[(x − mean) s] = −1 in standard errors; scores by central differences."""
    errors = []
    for j, step in enumerate(1e-6 * sd):
        shift = step * np.eye(len(sd))[j]
        score = (log_prob(draws + shift) - log_prob(draws - shift)) / (2 * step)
        for terms in (score, (draws[:, j] - mean[j]) * score + 1):
            errors.append(terms.mean() / terms.std() * np.sqrt(len(terms)))
    return np.abs(errors)


@every_posterior
def test_reference_satisfies_the_identities_of_stein(name):
    known, posterior = reference(name), find_posterior(name)
    draws, sd = known["draws"][:400].astype(np.float64), np.sqrt(np.diag(known["cov"]))
    assert stein_errors(posterior.log_prob, draws, known["mean"], sd).max() < MAX_ERRORS


def test_the_identities_notice_draws_that_are_too_wide_or_elsewhere():
    known, posterior = reference("weibull_lung"), find_posterior("weibull_lung")
    draws, mean, sd = known["draws"].astype(np.float64), known["mean"], np.sqrt(np.diag(known["cov"]))
    assert stein_errors(posterior.log_prob, mean + 1.15 * (draws - mean), mean, sd).max() > MAX_ERRORS
    assert stein_errors(posterior.log_prob, draws + 0.15 * sd, mean + 0.15 * sd, sd).max() > MAX_ERRORS


@every_posterior
def test_reference_passed_its_checks_and_its_draws_have_its_moments(name):
    known = reference(name)
    r_hat, effective, errors = known["checks"]
    assert r_hat < 1.01
    assert effective >= 2_000
    assert errors < MAX_ERRORS
    assert known["draws"].shape == (2_000, find_posterior(name).dimension)
    sd = np.sqrt(np.diag(known["cov"]))
    assert np.abs((known["draws"].mean(axis=0) - known["mean"]) / sd).max() < 0.12


@every_posterior
def test_one_point_is_like_many_and_labels_can_be_swapped(name, rng):
    posterior = find_posterior(name)
    center, sd = np.array(posterior.start).T
    points = center + 0.3 * sd * rng.standard_normal((5, posterior.dimension))
    values = posterior.log_prob(points)
    assert np.concatenate([posterior.log_prob(point[None]) for point in points]) == pytest.approx(values)
    if posterior.swap:
        assert posterior.log_prob(posterior.swap(points)) == pytest.approx(values)


@every_posterior
def test_densities_in_jax_are_the_same(name, rng):
    jax_density = pytest.importorskip("jax_density", reason="jax is not installed", exc_type=ImportError)
    posterior = find_posterior(name)
    center, sd = np.array(posterior.start).T
    points = center + 0.3 * sd * rng.standard_normal((20, posterior.dimension))
    other = np.asarray(jax_density.log_density(posterior)(points))
    assert posterior.log_prob(points) == pytest.approx(other, rel=1e-11)


def test_easier_parameters_have_the_same_density(rng):
    """The map to centred effects multiplies volumes by the sd to the number of effects."""
    for name, log_sd, num_effects in (("centred_dyestuff", 7, 6), ("centred_smoking", 17, 8)):
        posterior = find_posterior(name)
        make_easier, to_own = posterior.easier
        points = rng.standard_normal((5, posterior.dimension))
        expected = make_easier().log_prob(points) - num_effects * points[:, log_sd]
        assert posterior.log_prob(to_own(points)) == pytest.approx(expected)


def test_log_evidence_of_the_linear_model_is_that_of_a_quadrature():
    """The slopes integrate out: the outcome is normal for every error sd, over which one integral remains."""
    from sklearn.datasets import load_diabetes

    features, outcome = load_diabetes(return_X_y=True, scaled=False)
    design = with_intercept(features) * np.array([1_000.0] + [100.0] * 10)
    values, vectors = np.linalg.eigh(design @ design.T)
    squares = (vectors.T @ outcome) ** 2

    def log_joint(log_sd):
        variances = np.maximum(values, 0) + np.exp(2 * log_sd)
        prior = -0.5 * ((log_sd - 4) / 2) ** 2 - np.log(2) - 0.5 * np.log(2 * np.pi)
        return prior - 0.5 * (squares / variances + np.log(2 * np.pi * variances)).sum()

    peak = log_joint(4.0)
    integral, _ = quad(lambda log_sd: np.exp(log_joint(log_sd) - peak), 3.5, 4.5, points=[4.0])
    estimate, error = reference("linear_diabetes")["log_evidence"]
    assert error < 0.005
    assert estimate == pytest.approx(np.log(integral) + peak, abs=4 * error)


def test_hidden_states_sum_to_all_paths(rng):
    """The forward recursion against the sum over all paths of the first five quarters."""
    import itertools

    from datasets import numbers, of_statsmodels
    from posterior import NUMPY, normal
    from series import state_log_likelihood

    growth = 100 * np.diff(np.log(numbers(of_statsmodels("macrodata"), "realgdp")))[:5]
    means, log_sds, stay = rng.standard_normal((3, 2))
    log_stay, log_leave = -np.logaddexp(0, -stay), -np.logaddexp(0, stay)
    paths = []
    for path in itertools.product((0, 1), repeat=5):
        moves = sum(log_stay[i] if i == j else log_leave[i] for i, j in itertools.pairwise(path))
        seen = sum(normal(NUMPY, x, means[i], np.exp(log_sds[i])) for x, i in zip(growth, path, strict=True))
        paths.append(np.log(0.5) + moves + seen)
    found = state_log_likelihood(NUMPY, growth, means, log_sds, stay)
    assert found == pytest.approx(logsumexp(paths))


def test_cases_know_what_a_user_would():
    known = {case.name: case for case in cases()}
    assert set(known) == set(NAMES)
    assert all(3 <= case.dimension <= 40 for case in known.values())
    assert not any(case.has_prior for case in known.values())
