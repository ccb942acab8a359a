"""Numbers at the end of the scale, and what the user has told NumPy to do there, harm no run."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.baselines import SMC, ImportanceSampling
from steinbox.samplers.smc import SMCSampler

START = sb.Gaussian([0.0, 0.0], std=3.0)
METHODS = [sb.AdaptiveImportanceSampling(), sb.GFSVGD(), sb.AnnealedGFSVGD(), SMC(), ImportanceSampling()]


def sample(log_prob, **settings):
    return sb.sample(log_prob, START, **{"num_particles": 50, "max_evals": 1_500, "seed": 0} | settings)


def normal(x):
    return -0.5 * float(x @ x)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_log_density_too_low_for_numbers_to_tell_is_zero_density(method):
    def walled(floor):
        return lambda x: np.where(x[:, 0] < 1, -0.5 * (x * x).sum(axis=1), floor)

    settings = {"method": method, "vectorized": True, "max_evals": 600}
    reference = sample(walled(-np.inf), **settings)
    for floor in (-1e18, -np.finfo(float).max):
        result = sample(walled(floor), **settings)
        np.testing.assert_array_equal(result.particles, reference.particles)
        assert result.num_failures == 0


@pytest.mark.parametrize("size", [1e18, 1e100, 1e300])
def test_a_log_density_of_such_a_size_everywhere_is_refused_in_words(size):
    with pytest.raises(sb.TargetError, match=r"log_prob returned 1e\+\d+, above 1e\+16, where numbers are too coarse"):
        sample(lambda x: size + normal(x))
    with pytest.raises(ValueError, match=r"log_prob is -inf, or below -1e\+16, at all 150 initial points"):
        sample(lambda x: normal(x) - size)


def test_the_largest_that_is_allowed_works():
    for constant in (9e15, -9e15):
        assert sample(lambda x, c=constant: normal(x) + c).status.is_complete


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_what_the_user_has_told_numpy_changes_nothing(method):
    def ring(x):
        return -50.0 * (np.hypot(*x) - 3) ** 2

    expected = sample(ring, method=method, max_evals=1_000)
    summary, diagnostics = str(expected.summary()), str(expected.diagnostics())
    with np.errstate(all="raise"):
        result = sample(ring, method=method, max_evals=1_000)
        assert (str(result.summary()), str(result.diagnostics())) == (summary, diagnostics)
        assert np.geterr()["under"] == "raise", "and what was set stays so"
    np.testing.assert_array_equal(result.particles, expected.particles)


def test_algebra_that_fails_in_mid_run_leaves_the_iteration_before(monkeypatch):
    tell, calls = SMCSampler.tell, []

    def fail(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        return tell(*arguments)

    monkeypatch.setattr(SMCSampler, "tell", fail)
    result = sample(normal, method=SMC())
    assert result.status is sb.Status.STALLED
    assert len(result.trace["mean_log_prob"]) == 3
    assert "Matrix is not positive definite" in result.warnings
