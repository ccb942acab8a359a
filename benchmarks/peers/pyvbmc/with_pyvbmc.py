"""PyVBMC: variational Bayesian Monte Carlo; it stops by itself, long before a large budget is spent.

``VBMC(log_prob, start, lower, upper, plausible_lower, plausible_upper, options={"max_fun_evals": budget})``, plausible
bounds one standard deviation of the start to each side; 100,000 draws of its variational posterior.
"""

from __future__ import annotations

import numpy as np
from case import Case
from measures import Answer
from methods import Counted
from peer import Capped, equally_weighted
from pyvbmc import VBMC

PACKAGES = ("pyvbmc",)
NUM_DRAWS = 100_000


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    density = Capped(case, log_likelihood, budget)
    np.random.seed(seed)  # noqa: NPY002  # PyVBMC draws from the global generator
    center, sd = np.array([(each.mean(), each.std()) for each in case.factors]).T
    infinite = np.full(case.dimension, np.inf)
    options = {"max_fun_evals": budget, "display": "off"}
    begin = density.start(1, np.random.default_rng(seed))
    begin = np.clip(begin, center - sd, center + sd)
    sampler = VBMC(
        lambda x: float(density.log_prob(np.atleast_2d(x))[0]),
        begin,
        -infinite,
        infinite,
        center - sd,
        center + sd,
        options=options,
    )
    posterior, results = sampler.optimize()
    draws, _ = posterior.sample(NUM_DRAWS)
    return equally_weighted(draws, float(results["elbo"]), float(results["elbo_sd"]))
