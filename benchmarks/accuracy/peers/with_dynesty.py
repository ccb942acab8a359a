"""dynesty: nested sampling with as many live points as the budget allows; the prior is the start."""

from __future__ import annotations

import dynesty
import numpy as np
from counting import BudgetSpent, Counted
from problems import Problem
from scipy.stats import norm

from peers.points import largest_that_fits, log_likelihood, resampled

SHARE = 0.97  # of the budget: a step is never cut short


def run(problem: Problem, log_prob: Counted, budget: int, seed: int) -> np.ndarray:
    likelihood = log_likelihood(log_prob)

    def attempt(num_live: int) -> tuple[np.ndarray | None, bool]:
        sampler = dynesty.NestedSampler(
            lambda x: float(likelihood(x[None])[0]),
            lambda u: problem.initial.mean + problem.initial.root @ norm.ppf(u),
            problem.dimension,
            nlive=num_live,
            rstate=np.random.default_rng(seed),
        )
        most = int(SHARE * budget)
        try:
            sampler.run_nested(maxcall=most, print_progress=False)
        except BudgetSpent:
            return None, False
        results = sampler.results
        return resampled(results.samples, results.importance_weights(), seed), log_prob.num_evals < most

    return largest_that_fits(attempt, log_prob, smallest=max(50, problem.dimension + 1))
