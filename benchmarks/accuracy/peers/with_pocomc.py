"""pocoMC without its normalising flow (``precondition=False``); the prior is the start.

It keeps all its particles: when the budget is spent, those that it has are weighted.
"""

from __future__ import annotations

import numpy as np
import pocomc
from counting import BudgetSpent, Counted
from problems import Problem
from scipy.stats import norm

from peers.points import largest_that_fits, log_likelihood, resampled


def run(problem: Problem, log_prob: Counted, budget: int, seed: int) -> np.ndarray:
    initial = problem.initial
    prior = pocomc.Prior([norm(*each) for each in zip(initial.mean, np.sqrt(np.diag(initial.cov)), strict=True)])

    def attempt(num_active: int) -> tuple[np.ndarray | None, bool]:
        sampler = pocomc.Sampler(
            prior,
            log_likelihood(log_prob),
            n_effective=2 * num_active,
            n_active=num_active,
            vectorize=True,
            precondition=False,
            random_state=seed,
        )
        try:
            sampler.run(n_total=8 * num_active, n_evidence=0, progress=False)
            has_ended = True
        except BudgetSpent:
            has_ended = False
        if len(sampler.particles.get("beta")) == 0:
            return None, False
        points, weights, _, _ = sampler.posterior()
        return resampled(points, weights, seed), has_ended

    return largest_that_fits(attempt, log_prob, smallest=max(32, problem.dimension))
