"""steinbox's SMC: a hundred moves of 200 particles, or of as many as the budget allows: its particles, weighted.

``sb.sample(log_prob, start, method=sb.baselines.SMC(), num_particles=max(200, budget // 100), max_evals=budget)``
"""

from __future__ import annotations

from case import Case
from measures import Answer
from methods import Counted

import steinbox as sb

PACKAGES = ()


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    result = sb.sample(
        log_likelihood,
        list(case.factors),
        method=sb.baselines.SMC(),
        num_particles=max(200, budget // 100),
        max_evals=budget,
        vectorized=True,
        progress=False,
        seed=seed,
    )
    return Answer(result.particles, result.weights, num_warnings=len(result.warnings))
