"""Tempest: persistent sampling with its defaults, 2 d particles, until 4,096 effective draws or the budget is spent.

``Sampler(prior_transform, log_likelihood, n_dim=d, vectorize=True, random_state=seed).run()``; all its particles,
weighted.
"""

from __future__ import annotations

import contextlib

import numpy as np
import tempest
from case import Case
from measures import Answer
from methods import Counted
from peer import BudgetSpent, Capped

PACKAGES = ("tempest-sampler",)
ALMOST_ONE = 1 - 1e-4  # a temperature at which it stops by itself


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    density = Capped(case, log_likelihood, budget)
    np.random.seed(seed)  # noqa: NPY002  # Tempest draws from the global generator
    sampler = tempest.Sampler(
        density.from_cube, density.log_ratio, n_dim=case.dimension, vectorize=True, random_state=seed
    )
    with contextlib.suppress(BudgetSpent):
        sampler.run(progress=False)
    temperatures = sampler.state.get_history("beta")
    if len(temperatures) == 0 or temperatures[-1] < ALMOST_ONE:
        raise BudgetSpent(f"its temperature is not at its end after {budget:,} evaluations")
    points, weights, _ = sampler.posterior()
    _, log_z = sampler.state.compute_logw_and_logz(1.0)  # what ``evidence`` says at the end of a run
    return Answer(points, weights / weights.sum(), float(log_z), np.nan)
