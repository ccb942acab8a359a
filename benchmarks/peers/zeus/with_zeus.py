"""zeus: ensemble slice sampling until the budget is spent; the second half of the chains.

``EnsembleSampler(num_walkers, d, log_prob, vectorize=True).run_mcmc(start, …)``, with walkers as those of emcee, as its
documentation recommends.
"""

from __future__ import annotations

import contextlib

import numpy as np
import zeus
from case import Case
from measures import Answer
from methods import Counted
from peer import BudgetSpent, Capped, of_chain

PACKAGES = ("zeus-mcmc",)


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    density, num_walkers = Capped(case, log_likelihood, budget), max(32, 2 * case.dimension + 2)
    points = density.ball(num_walkers, np.random.default_rng(seed))
    np.random.seed(seed)  # noqa: NPY002  # zeus draws from the global generator
    sampler = zeus.EnsembleSampler(num_walkers, case.dimension, density.log_prob, vectorize=True, verbose=False)
    chain = [points]
    with contextlib.suppress(BudgetSpent):
        for state, _, _ in sampler.sample(points, iterations=budget, progress=False):
            chain.append(state.copy())
    return of_chain(np.array(chain))
