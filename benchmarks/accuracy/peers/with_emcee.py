"""emcee: the affine-invariant stretch move, which is its default."""

from __future__ import annotations

import emcee
import numpy as np
from counting import Counted
from problems import Problem

from peers.points import start_inside, thinned, walkers_for


def run(problem: Problem, log_prob: Counted, budget: int, seed: int, moves: list | None = None) -> np.ndarray:
    walkers = walkers_for(problem.dimension)
    points, values = start_inside(log_prob, walkers, seed)
    np.random.seed(seed)  # noqa: NPY002  # emcee draws from the global generator
    sampler = emcee.EnsembleSampler(walkers, problem.dimension, log_prob, vectorize=True, moves=moves)
    steps = (budget - log_prob.num_evals) // walkers
    sampler.run_mcmc(emcee.State(points, log_prob=values), steps, skip_initial_state_check=True)
    return thinned(sampler.get_chain())
