"""emcee: the affine-invariant stretch move, which is its default; the second half of the chains.

``EnsembleSampler(num_walkers, d, log_prob, vectorize=True).run_mcmc(start, num_steps)``, 32 walkers or 2 d + 2, in a
small ball around the best point that ``scipy.optimize.minimize`` finds, as its tutorial recommends.
"""

from __future__ import annotations

import emcee
import numpy as np
from case import Case
from measures import Answer
from methods import Counted
from peer import Capped, of_chain

PACKAGES = ("emcee",)


def run(case: Case, log_likelihood: Counted, budget: int, seed: int, num_walkers: int | None = None) -> Answer:
    density, num_walkers = Capped(case, log_likelihood, budget), num_walkers or max(32, 2 * case.dimension + 2)
    points = density.ball(num_walkers, np.random.default_rng(seed))
    np.random.seed(seed)  # noqa: NPY002  # emcee draws from the global generator
    sampler = emcee.EnsembleSampler(num_walkers, case.dimension, density.log_prob, vectorize=True)
    sampler.run_mcmc(points, density.num_left // num_walkers - 1)  # the start is evaluated, too
    return of_chain(sampler.get_chain())
