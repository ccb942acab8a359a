"""UltraNest: reactive nested sampling with at least 400 live points, its default, or as many as end within the budget.

``ReactiveNestedSampler(names, log_likelihood, transform, vectorized=True).run(min_num_live_points=400)``; above ten
dimensions with ``SliceSampler(nsteps=2 * d, …)`` as its step sampler, as its documentation recommends.
"""

from __future__ import annotations

import logging

import numpy as np
import ultranest
from case import Case
from measures import Answer
from methods import Counted
from peer import Capped, largest_that_fits
from ultranest import stepsampler

PACKAGES = ("ultranest",)
MANY_DIMENSIONS = 10


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    logging.getLogger("ultranest").setLevel(logging.ERROR)

    def attempt(num_live: int, density: Capped) -> Answer:
        np.random.seed(seed)  # noqa: NPY002  # UltraNest draws from the global generator
        names = [f"x{j}" for j in range(case.dimension)]
        sampler = ultranest.ReactiveNestedSampler(names, density.log_ratio, density.from_cube, vectorized=True)
        if case.dimension > MANY_DIMENSIONS:
            sampler.stepsampler = stepsampler.SliceSampler(
                nsteps=2 * case.dimension, generate_direction=stepsampler.generate_mixture_random_direction
            )
        result = sampler.run(min_num_live_points=num_live, show_status=False, viz_callback=False)
        known = result["weighted_samples"]
        return Answer(known["points"], known["weights"], result["logz"], result["logzerr"])

    return largest_that_fits(attempt, case, log_likelihood, budget, (400, 50))
