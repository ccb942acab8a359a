"""The default method's accuracy on the paper's problems: what README and docs claim, with a margin."""

import dataclasses

import numpy as np
import pytest
from sampler_problems import ZeroSteps

import steinbox as sb

PROBLEMS = {
    "gauss2": (sb.paper.targets.paper_gaussian(), sb.Gaussian(np.zeros(2), std=3.0), 20_000, -3.8),
    "gmm25": (sb.paper.targets.paper_gmm(seed=0), sb.Gaussian(np.zeros(25), std=2.0), 40_000, -2.3),
}


def log10_mmd_squared(problem, method, num_seeds, max_evals=None):
    target, initial, budget, _ = PROBLEMS[problem]
    reference = target.sample(10_000, np.random.default_rng(99))
    scores = []
    for seed in range(num_seeds):
        result = sb.sample(
            target.log_prob, initial, method=method, max_evals=max_evals or budget, vectorized=True, seed=seed
        )
        scores.append(2 * np.log10(sb.mmd(result.particles, reference)))
    return np.mean(scores)


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_default_reaches_its_figure_over_five_seeds(problem):
    assert log10_mmd_squared(problem, sb.AnnealedGFSVGD(), num_seeds=5) <= PROBLEMS[problem][-1]


@pytest.mark.parametrize(("problem", "limit"), [("gauss2", -2.7), pytest.param("gmm25", -1.9, marks=pytest.mark.slow)])
def test_one_seed_with_a_quarter_of_the_budget_and_not_with_zero_steps(problem, limit):
    """Over eight seeds: −3.7 to −3.0 and −2.3 to −2.1 with a quarter of the budget, −1.0 to −0.8 without steps."""
    method = sb.AnnealedGFSVGD()
    broken = dataclasses.replace(method, optimizer=ZeroSteps(method.optimizer), num_iterations=1)
    quarter = PROBLEMS[problem][2] // 4
    assert log10_mmd_squared(problem, method, 1, quarter) <= limit
    assert log10_mmd_squared(problem, broken, 1, quarter) > limit + 0.8
