"""PyMC's ``sample_smc``: tempering with independent Metropolis-Hastings steps; the prior is the start."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pymc
import pytensor.tensor as pt
from counting import Counted
from problems import Problem
from pytensor.graph import Apply, Op

from peers.points import largest_that_fits, log_likelihood, resampled


class BlackBox(Op):
    """A Python function of one point as PyTensor sees it."""

    def __init__(self, log_prob: Counted) -> None:
        self.likelihood = log_likelihood(log_prob)

    def make_node(self, x: pt.TensorVariable) -> Apply:
        return Apply(self, [pt.as_tensor(x)], [pt.dscalar()])

    def perform(self, node: Apply, inputs: list[np.ndarray], outputs: list[list]) -> None:
        outputs[0][0] = np.asarray(self.likelihood(inputs[0][None])[0])


def run(problem: Problem, log_prob: Counted, budget: int, seed: int) -> np.ndarray:
    logging.getLogger("pymc").setLevel(logging.ERROR)
    initial = problem.initial
    with pymc.Model() as model:
        x = pymc.Normal("x", initial.mean, np.sqrt(np.diag(initial.cov)), shape=problem.dimension)
        pymc.Potential("likelihood", BlackBox(log_prob)(x))

    def attempt(num_draws: int) -> tuple[np.ndarray | None, bool]:
        settings = {"chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
        try:
            with model, warnings.catch_warnings(action="ignore"):
                trace = pymc.sample_smc(num_draws, random_seed=seed, return_inferencedata=False, **settings)
        except Exception:
            if log_prob.is_spent:
                return None, False
            raise
        return resampled(np.asarray(trace["x"]), None, seed), True

    return largest_that_fits(attempt, log_prob, smallest=max(50, 2 * problem.dimension))
