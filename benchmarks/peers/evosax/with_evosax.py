"""evosax: SV-CMA-ES (Braun et al., 2024), 200 particles, each the mean of a population of four.

``SV_CMA_ES(4, 200, solution=start[0])``, ask and tell until the budget is spent, in units of the start,
since it has one step size for all coordinates.
"""

from __future__ import annotations

import evosax.algorithms
import jax
import jax.numpy as jnp
import numpy as np
from case import Case
from measures import NUM_POINTS, Answer
from methods import Counted
from peer import Capped, equally_weighted

PACKAGES = ("evosax", "jax")
POPULATION = 4


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    density = Capped(case, log_likelihood, budget)
    center, sd = np.array([(each.mean(), each.std()) for each in case.factors]).T
    start = jnp.asarray((density.start(NUM_POINTS, np.random.default_rng(seed)) - center) / sd)
    strategy = evosax.algorithms.SV_CMA_ES(POPULATION, NUM_POINTS, solution=start[0])
    key, params = jax.random.key(seed), strategy.default_params
    state = strategy.init(key, start, params)
    ask, tell = jax.jit(strategy.ask), jax.jit(strategy.tell)
    for _ in range(budget // (POPULATION * NUM_POINTS)):
        key, for_ask, for_tell = jax.random.split(key, 3)
        population, state = ask(for_ask, state, params)
        points = center + sd * np.asarray(population, dtype=np.float64).reshape(-1, case.dimension)
        values = np.maximum(density.log_prob(points), -1e30)  # it has no ranks for infinite values
        state, _ = tell(for_tell, population, -jnp.asarray(values).reshape(population.shape[:-1]), state, params)
    return equally_weighted(center + sd * np.asarray(state.mean, dtype=np.float64).reshape(NUM_POINTS, -1))
