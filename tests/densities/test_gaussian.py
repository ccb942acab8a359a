"""The Gaussian: fitted to points, drawn evenly, and what it refuses."""

import numpy as np
import pytest

import steinbox as sb

COV = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.2], [0.0, -0.2, 0.5]])


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


def test_quasi_random_draws_are_draws_and_more_even(rng):
    gaussian = sb.Gaussian([1, -1, 0], cov=COV)
    means = [gaussian.quasi_random(128, seed).mean(axis=0) for seed in range(100)]
    assert (np.std(means, axis=0) < 0.3 * np.sqrt(np.diag(COV) / 128)).all()
    np.testing.assert_allclose(np.mean(means, axis=0), gaussian.mean, atol=0.01)
    np.testing.assert_allclose(np.cov(gaussian.quasi_random(4096, rng).T), COV, atol=0.02)
