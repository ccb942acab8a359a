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
    return sb.sample(function, START, **({"num_particles": 50, "max_evals": 1_000, "seed": 0} | settings))


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


def test_minus_the_log_density_is_asked_about_as_such():
    said = words(run(lambda x: -normal(x)))
    assert "Does log_prob return minus the log-density?" in said
    assert "density itself" not in said


STEIN_AND_MORE = {
    "SVGD": sb.SVGD(),
    "GF-SVGD": sb.GFSVGD(),
    "annealed SVGD": sb.AnnealedSVGD(),
    "annealed GF-SVGD": sb.AnnealedGFSVGD(),
    "SMC": sb.baselines.SMC(),
    "adaptive Metropolis": sb.baselines.AdaptiveMetropolis(),
    "differential evolution": sb.baselines.DifferentialEvolution(),
}


@pytest.mark.parametrize("method", STEIN_AND_MORE.values(), ids=STEIN_AND_MORE)
def test_an_improper_density_is_asked_about_whatever_moves(method):
    result = run(lambda x: -0.5 * x[0] ** 2, score=lambda x: np.array([-x[0], 0.0]), method=method, max_evals=2_000)
    assert "x1" in words(result)
    assert "Is the density proper" in words(result)


@pytest.mark.parametrize("method", STEIN_AND_MORE.values(), ids=STEIN_AND_MORE)
def test_a_start_that_is_narrower_than_the_density_is_not_asked_about(method):
    settings = {"num_particles": 50, "max_evals": 2_000, "seed": 0}
    start = sb.Gaussian([0.0, 0.0], std=0.4)
    assert "proper" not in words(sb.sample(normal, start, score=lambda x: -x, method=method, **settings))


def test_uneven_weights_are_said():
    result = run(lambda x: -normal(x), method=sb.baselines.ImportanceSampling())
    assert "The weights of the 1,000 particles are so uneven that they amount to" in words(result)
    assert "uneven" not in words(run(method=sb.baselines.ImportanceSampling()))


@pytest.mark.parametrize(
    ("method", "max_evals", "status"),
    [
        (sb.GFSVGD(), 120, sb.Status.BUDGET_SPENT),
        (sb.GFSVGD(num_iterations=50), 120, sb.Status.BUDGET_SPENT),
        (sb.GFSVGD(num_iterations=2), 2_000, sb.Status.FINISHED),
        (sb.GFSVGD(num_iterations=2), None, sb.Status.FINISHED),
        (sb.GFSVGD(num_iterations=2), 150, sb.Status.FINISHED),
        (sb.baselines.ImportanceSampling(), 120, sb.Status.BUDGET_SPENT),
        (None, 120, sb.Status.BUDGET_SPENT),
    ],
    ids=["no plan", "longer plan", "shorter plan", "plan alone", "plan as the budget", "importance", "default"],
)
def test_a_budget_that_ended_the_run_is_said(method, max_evals, status):
    assert run(method=method, max_evals=max_evals).status is status


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
    assert "Is it noisy? Then set noise=True, and give it a parameter `rng` to make runs repeatable." in asked


def test_a_function_that_drifts_is_noticed():
    count = itertools.count()
    asked = words(run(lambda x: normal(x) + 1e-4 * next(count)))
    assert "at the end of the run" in asked
    assert "Does it depend on earlier calls?" in asked


def test_noise_that_was_said_is_not_asked_about():
    rng = np.random.default_rng(0)
    assert "noisy?" not in words(run(lambda x: normal(x) + 0.3 * rng.standard_normal(), noise=0.3))
    assert "noise=" not in words(run(lambda x, rng: normal(x) + 0.3 * rng.standard_normal(), noise=True))


def test_noise_that_only_a_generator_shows_is_noticed():
    asked = words(run(lambda x, rng: normal(x) + 0.3 * rng.standard_normal()))
    assert "with another `rng`, but noise= was not set" in asked
    assert "noise=" not in words(run(lambda x, rng: normal(x)))


def test_asking_again_costs_no_result():
    count = itertools.count()

    def interrupted(x):
        if next(count) == 100:
            raise KeyboardInterrupt
        return normal(x)

    result = run(interrupted, method=sb.GFSVGD(num_iterations=1), max_evals=None)
    assert (result.num_evals, next(count)) == (100, 101)
    assert result.status is sb.Status.FINISHED
