"""zeus: ensemble slice sampling, until the budget is spent."""

from __future__ import annotations

import contextlib

import numpy as np
import zeus
from counting import BudgetSpent, Counted
from problems import Problem

from peers.points import start_inside, thinned, walkers_for


def run(problem: Problem, log_prob: Counted, budget: int, seed: int) -> np.ndarray:
    walkers = walkers_for(problem.dimension)
    points, values = start_inside(log_prob, walkers, seed)
    np.random.seed(seed)  # noqa: NPY002  # zeus draws from the global generator
    sampler = zeus.EnsembleSampler(walkers, problem.dimension, log_prob, vectorize=True, verbose=False)
    chain = [points]
    with contextlib.suppress(BudgetSpent):
        for state, _, _ in sampler.sample(points, log_prob0=values, iterations=budget, progress=False):
            chain.append(state.copy())
    return thinned(np.array(chain))
