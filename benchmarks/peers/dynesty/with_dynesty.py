"""dynesty: static nested sampling with 500 live points, its default, or as many as end within the budget.

``NestedSampler(log_likelihood, prior_transform, d, nlive=500).run_nested()``
"""

from __future__ import annotations

import dynesty
import numpy as np
from case import Case
from measures import Answer
from methods import Counted
from peer import Capped, largest_that_fits

PACKAGES = ("dynesty",)


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    def attempt(num_live: int, density: Capped) -> Answer:
        rng = np.random.default_rng(seed)
        sampler = dynesty.NestedSampler(
            density.one_log_ratio, density.from_cube, case.dimension, nlive=num_live, rstate=rng
        )
        sampler.run_nested(print_progress=False)
        results = sampler.results
        weights = results.importance_weights()
        return Answer(results.samples, weights / weights.sum(), results.logz[-1], results.logzerr[-1])

    return largest_that_fits(attempt, case, log_likelihood, budget, (500, 2 * case.dimension + 2))
