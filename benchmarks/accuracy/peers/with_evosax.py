"""evosax: SV-CMA-ES (Braun et al., 2024). Every particle is the mean of a small population of its own."""

from __future__ import annotations

import evosax.algorithms
import jax
import jax.numpy as jnp
import numpy as np
from counting import Counted
from measures import NUM_POINTS
from problems import Problem

POPULATION = 4


def run(problem: Problem, log_prob: Counted, budget: int, seed: int) -> np.ndarray:
    start = jnp.asarray(problem.initial.sample(NUM_POINTS, np.random.default_rng(seed)))
    strategy = evosax.algorithms.SV_CMA_ES(POPULATION, NUM_POINTS, solution=start[0])
    key, params = jax.random.key(seed), strategy.default_params
    state = strategy.init(key, start, params)
    ask, tell = jax.jit(strategy.ask), jax.jit(strategy.tell)
    for _ in range(budget // (POPULATION * NUM_POINTS)):
        key, for_ask, for_tell = jax.random.split(key, 3)
        population, state = ask(for_ask, state, params)
        values = log_prob(np.asarray(population, dtype=np.float64).reshape(-1, problem.dimension))
        state, _ = tell(for_tell, population, -jnp.asarray(values).reshape(population.shape[:-1]), state, params)
    return np.asarray(state.mean, dtype=np.float64).reshape(NUM_POINTS, -1)
