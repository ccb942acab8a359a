"""Draws of a cheap log-density on a path from a Gaussian, against exact integrals and moments."""

import numpy as np
import pytest

from steinbox.numerics.annealed_draws import annealed_draws


def test_the_integral_and_the_moments_of_a_gaussian_are_right():
    cov = np.array([[1.0, 0.6], [0.6, 0.5]])
    precision, mean = np.linalg.inv(cov), np.array([1.0, -0.5])

    def log_prob(x):
        return 7.0 - 0.5 * np.einsum("ij,jk,ik->i", x - mean, precision, x - mean)

    found = [annealed_draws(log_prob, 2, 2.0, 1000, np.random.default_rng(seed)) for seed in range(8)]
    exact = 7.0 + 0.5 * np.linalg.slogdet(2 * np.pi * cov)[1]
    log_evidence = np.array([each[1] for each in found])
    assert abs(np.log(np.mean(np.exp(log_evidence - exact)))) < 0.1
    draws = np.concatenate([each[0] for each in found])
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(draws.T), cov, atol=0.08)


def test_a_far_narrower_target_is_reached():
    def log_prob(x):
        return -0.5 * ((x - 2.0) ** 2).sum(axis=1) / 1e-4 - 4 * np.log(0.01 * np.sqrt(2 * np.pi))

    draws, log_evidence = annealed_draws(log_prob, 4, 3.0, 500, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), 2.0, atol=0.003)
    np.testing.assert_allclose(draws.std(axis=0), 0.01, rtol=0.3)
    assert abs(log_evidence) < 1.5


def test_what_is_outside_the_support_is_never_drawn():
    def log_prob(x):
        return np.where(x[:, 0] > 0, -0.5 * (x**2).sum(axis=1), -np.inf)

    draws, log_evidence = annealed_draws(log_prob, 2, 2.0, 1000, np.random.default_rng(0))
    assert draws[:, 0].min() > 0
    assert log_evidence == pytest.approx(np.log(np.pi), abs=0.2)
