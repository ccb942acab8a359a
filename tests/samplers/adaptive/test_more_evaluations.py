"""More evaluations never give a worse answer."""

import numpy as np
import pytest

import steinbox as sb

TARGETS = {
    "banana": (sb.targets.Banana(), 2),
    "two modes": (sb.targets.separated_modes(6, distance=8.0, share=0.3), 6),
    "heavy tails": (sb.targets.StudentT(8, dof=4.0), 8),
    "funnel": (sb.targets.Funnel(5), 5),
    "correlated": (sb.targets.autoregressive(12), 12),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_the_error_with_20000_evaluations_is_not_above_that_with_5000(name):
    """Means of three seeds; where both are below a third of the error of exact draws, nothing is asked."""
    target, dimension = TARGETS[name]
    exact = target.sample(5_000, np.random.default_rng(9))
    floor = np.mean([sb.mmd(target.sample(200, np.random.default_rng(seed)), exact) for seed in range(5)])

    def error(max_evals):
        settings = {"num_particles": 200, "max_evals": max_evals, "vectorized": True}
        start = sb.Gaussian(np.zeros(dimension), std=3.0)
        runs = [sb.sample(target.log_prob, start, seed=seed, **settings) for seed in range(3)]
        return np.mean([sb.mmd(run.particles, exact) for run in runs])

    assert error(20_000) <= max(1.2 * error(5_000), floor / 3)
