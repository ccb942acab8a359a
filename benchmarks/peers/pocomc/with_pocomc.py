"""pocoMC: preconditioned Monte Carlo with its normalizing flow and its defaults, until the budget is spent.

``Sampler(Prior(…), log_likelihood, vectorize=True, random_state=seed).run()``; all its particles, weighted.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pocomc
import torch
from case import Case
from measures import Answer
from methods import Counted
from peer import BudgetSpent, Capped
from scipy.stats import norm

PACKAGES = ("pocomc", "torch")


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    torch.set_num_threads(1)
    density = Capped(case, log_likelihood, budget)
    prior = pocomc.Prior([norm(each.mean(), each.std()) for each in case.factors])
    sampler = pocomc.Sampler(prior, density.log_ratio, vectorize=True, random_state=seed)
    with contextlib.suppress(BudgetSpent):
        sampler.run(progress=False)
    if len(sampler.particles.get("beta")) == 0 or sampler.particles.get("beta")[-1] < 1:
        raise BudgetSpent(f"its temperature is not at its end after {budget:,} evaluations")
    points, weights, _, _ = sampler.posterior()
    log_z, error = sampler.particles.get("logz")[-1], np.nan
    return Answer(points, weights / weights.sum(), float(log_z), error)
