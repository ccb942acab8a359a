"""PyMC's ``sample_smc``: tempering with independent Metropolis–Hastings steps; 2,000 draws, its default, or fewer.

``pymc.sample_smc(draws, chains=1)``
"""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pymc
import pytensor.tensor as pt
from case import Case
from measures import Answer
from methods import Counted
from peer import Capped, equally_weighted, largest_that_fits
from pytensor.graph import Apply, Op

PACKAGES = ("pymc",)
SETTINGS = {"chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}


class BlackBox(Op):
    """A Python function of one point as PyTensor sees it."""

    def __init__(self, density: Capped) -> None:
        self.density = density

    def make_node(self, x: pt.TensorVariable) -> Apply:
        return Apply(self, [pt.as_tensor(x)], [pt.dscalar()])

    def perform(self, node: Apply, inputs: list[np.ndarray], outputs: list[list]) -> None:
        outputs[0][0] = np.asarray(self.density.one_log_ratio(inputs[0]))


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    logging.getLogger("pymc").setLevel(logging.ERROR)
    means, sds = np.array([(each.mean(), each.std()) for each in case.factors]).T

    def attempt(num_draws: int, density: Capped) -> Answer:
        with pymc.Model(), warnings.catch_warnings(action="ignore"):
            x = pymc.Normal("x", means, sds, shape=case.dimension)
            pymc.Potential("likelihood", BlackBox(density)(x))
            trace = pymc.sample_smc(num_draws, random_seed=seed, return_inferencedata=False, **SETTINGS)
        return equally_weighted(np.asarray(trace["x"]))

    return largest_that_fits(attempt, case, log_likelihood, budget, (2_000, 60))
