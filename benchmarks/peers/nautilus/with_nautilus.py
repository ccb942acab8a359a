"""nautilus: importance nested sampling with 2,000 live points, its default, stopped when the budget is spent.

``Sampler(prior, log_likelihood, n_dim=d, n_live=2000, vectorized=True).run(n_like_max=budget)``
"""

from __future__ import annotations

import nautilus
import numpy as np
from case import Case
from measures import Answer
from methods import Counted
from peer import Capped

PACKAGES = ("nautilus-sampler",)


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    density = Capped(case, log_likelihood, budget + 1_000)  # the last batch may exceed what it was told
    sampler = nautilus.Sampler(
        density.from_cube, density.log_ratio, n_dim=case.dimension, pass_dict=False, vectorized=True, seed=seed
    )
    sampler.run(n_like_max=budget, verbose=False)
    points, log_weights, _ = sampler.posterior()
    weights = np.exp(log_weights - log_weights.max())
    return Answer(points, weights / weights.sum(), sampler.log_z, 1 / np.sqrt(sampler.n_eff))
