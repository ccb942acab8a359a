"""blackjax: adaptive tempered SMC, random-walk steps with the particles' covariance; the prior is the start.

It evaluates again, at every temperature, the points that it knows already; they are counted as it asks for them.
"""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.smc import extend_params, resampling
from counting import Counted
from problems import Problem

from peers.points import largest_that_fits, log_likelihood, resampled

jax.config.update("jax_enable_x64", True)


def run(problem: Problem, log_prob: Counted, budget: int, seed: int) -> np.ndarray:
    dimension, initial = problem.dimension, problem.initial
    likelihood, precision = log_likelihood(log_prob), jnp.linalg.inv(jnp.asarray(initial.cov))

    def log_prior(x: jax.Array) -> jax.Array:
        return -0.5 * (x - initial.mean) @ precision @ (x - initial.mean)

    def called(x: np.ndarray) -> np.ndarray:
        return likelihood(np.asarray(x).reshape(-1, dimension)).reshape(x.shape[:-1])

    def log_likelihood_of(x: jax.Array) -> jax.Array:
        shape = jax.ShapeDtypeStruct(x.shape[:-1], x.dtype)
        return jax.pure_callback(called, shape, x, vmap_method="broadcast_all")

    def root_of(particles: jax.Array) -> dict:
        covariance = jnp.cov(particles, rowvar=False) + 1e-8 * jnp.eye(dimension)
        return extend_params({"root": 2.38 / jnp.sqrt(dimension) * jnp.linalg.cholesky(covariance)})

    def moved(key: jax.Array, state: object, log_density: object, root: jax.Array) -> tuple:
        return blackjax.additive_step_random_walk.build_kernel()(
            key, state, log_density, lambda k, x: root @ jax.random.normal(k, x.shape)
        )

    def attempt(num_particles: int) -> tuple[np.ndarray | None, bool]:
        start = jnp.asarray(initial.sample(num_particles, np.random.default_rng(seed)))
        algorithm = blackjax.inner_kernel_tuning(
            blackjax.adaptive_tempered_smc,
            log_prior,
            log_likelihood_of,
            moved,
            blackjax.additive_step_random_walk.init,
            resampling.systematic,
            lambda key, state, info: root_of(state.particles),
            root_of(start),
            num_mcmc_steps=10,
            target_ess=0.5,
        )
        state, step, key = algorithm.init(start), jax.jit(algorithm.step), jax.random.key(seed)
        try:
            while state.sampler_state.tempering_param < 1:
                key, key_of_step = jax.random.split(key)
                state, _ = jax.block_until_ready(step(key_of_step, state))
        except Exception:
            if log_prob.is_spent:
                return None, False
            raise
        final = state.sampler_state
        if not final.tempering_param >= 1:
            raise FloatingPointError("blackjax's temperature is NaN")
        return resampled(np.asarray(final.particles), np.asarray(final.weights), seed), True

    return largest_that_fits(attempt, log_prob, smallest=max(30, dimension + 2))
