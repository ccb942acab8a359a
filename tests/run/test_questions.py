"""Questions that a run asks about the function, and that it does not ask about good ones."""

import itertools

import numpy as np
import pytest

import steinbox as sb

START = sb.Gaussian([0.0, 0.0], std=3.0)


def normal(x):
    return -0.5 * float(x @ x)


def density(x):
    return float(np.exp(-0.5 * x @ x))


def run(function=normal, **settings):
    return sb.sample(function, START, **({"num_particles": 50, "max_evals": 2_000, "seed": 0} | settings))


def words(result):
    return " ".join(result.warnings)


@pytest.mark.parametrize("method", [None, sb.GFSVGD(surrogate=START, num_iterations=20)], ids=["default", "stein"])
@pytest.mark.parametrize(
    ("function", "question"),
    [(lambda x: 7.0, "log_prob is 7 at all"), (density, "Is it the density itself? Then return its logarithm.")],
)
def test_a_function_that_is_no_log_density_is_asked_about(function, question, method):
    assert question in words(run(function, method=method))


@pytest.mark.parametrize("function", [lambda x: -0.5 * x[0] ** 2, lambda x: -normal(x)], ids=["a ridge", "minus log p"])
def test_an_improper_density_is_asked_about(function):
    result = run(function)
    assert "Is the density proper" in words(result)
    assert "x1 is more than" in words(result) or "x0 is more than" in words(result)


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (normal, {}),
        (lambda x: 50 + normal(x), {}),
        (lambda x: normal(x / 1_000), {"max_evals": 5_000}),
        (lambda x: 0.0, {"bounds": [(-1, 1), (-20, 20)]}),
        (lambda x: 0.0 if np.abs(x).max() < 3 else -np.inf, {}),
        (lambda x: 200 + 100 * normal(x), {}),
    ],
    ids=["normal", "positive", "far wider than the start", "flat between bounds", "flat in a box", "narrow"],
)
def test_good_densities_are_not_asked_about(function, settings):
    assert "?" not in words(run(function, **settings))


@pytest.mark.parametrize("executor", [None, 1])
def test_noise_that_was_not_said_is_noticed(executor):
    rng = np.random.default_rng(0)
    asked = words(run(lambda x: normal(x) + rng.standard_normal(), executor=executor))
    assert "Is it noisy? Then say noise=True, or give it a parameter `rng`." in asked


def test_a_function_that_drifts_is_noticed():
    count = itertools.count()
    asked = words(run(lambda x: normal(x) + 1e-4 * next(count)))
    assert "at the end of the run" in asked
    assert "Does it depend on earlier calls?" in asked


def test_noise_that_was_said_is_not_asked_about():
    rng = np.random.default_rng(0)
    assert "noisy?" not in words(run(lambda x: normal(x) + 0.3 * rng.standard_normal(), noise=0.3))
    assert "noisy?" not in words(run(lambda x, rng: normal(x) + 0.3 * rng.standard_normal()))


def test_asking_again_costs_no_result():
    count = itertools.count()

    def interrupted(x):
        if next(count) == 100:
            raise KeyboardInterrupt
        return normal(x)

    result = run(interrupted, method=sb.GFSVGD(num_iterations=1), max_evals=None)
    assert (result.num_evals, next(count)) == (100, 101)
    assert result.status is sb.Status.FINISHED
