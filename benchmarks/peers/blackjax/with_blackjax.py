"""BlackJAX: adaptive tempered SMC with ten random-walk steps, scaled by the covariance of as many particles as fit.

``inner_kernel_tuning(smc_algorithm=adaptive_tempered_smc, target_ess=0.5, num_mcmc_steps=10, …)`` with
``additive_step_random_walk``, at most 250 particles (500 never end); NumPy's densities through ``pure_callback``.
"""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.mcmc.random_walk import normal
from blackjax.smc import extend_params, resampling
from blackjax.smc.tuning.from_particles import particles_covariance_matrix
from case import Case
from measures import Answer
from methods import Counted
from peer import Capped, largest_that_fits

PACKAGES = ("blackjax", "jax")
jax.config.update("jax_enable_x64", True)
step = blackjax.additive_step_random_walk.build_kernel()


def run(case: Case, log_likelihood: Counted, budget: int, seed: int) -> Answer:
    def attempt(num_particles: int, density: Capped) -> Answer:
        def log_ratio(point: jax.Array) -> jax.Array:
            shape = jax.ShapeDtypeStruct((), jnp.float64)
            return jax.pure_callback(from_numpy, shape, point, vmap_method="expand_dims")

        def from_numpy(points: np.ndarray) -> np.ndarray:
            points = np.asarray(points)
            return np.maximum(density.log_ratio(np.atleast_2d(points)), -1e30).reshape(points.shape[:-1])

        def scale(particles: jax.Array) -> dict[str, jax.Array]:
            factor = jnp.linalg.cholesky(particles_covariance_matrix(particles))
            return extend_params({"sigma": 2.38 / np.sqrt(case.dimension) * factor})

        particles = jnp.asarray(density.start(num_particles, np.random.default_rng(seed)))
        sampler = blackjax.inner_kernel_tuning(
            smc_algorithm=blackjax.adaptive_tempered_smc,
            logprior_fn=lambda x: jax.scipy.stats.norm.logpdf(x, density.center, density.sd).sum(),
            loglikelihood_fn=log_ratio,
            mcmc_step_fn=lambda key, state, log_density, sigma: step(key, state, log_density, normal(sigma)),
            mcmc_init_fn=blackjax.additive_step_random_walk.init,
            resampling_fn=resampling.systematic,
            mcmc_parameter_update_fn=lambda key, state, info: scale(state.particles),
            initial_parameter_value=scale(particles),
            num_mcmc_steps=10,
            target_ess=0.5,
        )
        state, key, log_z, advance = sampler.init(particles), jax.random.key(seed), 0.0, jax.jit(sampler.step)
        while state.sampler_state.tempering_param < 1:
            key, subkey = jax.random.split(key)
            state, info = advance(subkey, state)
            log_z += float(info.log_likelihood_increment)
        points, weights = np.asarray(state.sampler_state.particles), np.asarray(state.sampler_state.weights)
        return Answer(points, weights / weights.sum(), log_z, np.nan)

    return largest_that_fits(attempt, case, log_likelihood, budget, (250, 60))
