"""The same densities in JAX, for the reference and the test; needs jax."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import special
from posterior import Backend, Posterior

jax.config.update("jax_enable_x64", True)


def scan(step: Callable, state: object, rows: np.ndarray) -> tuple:
    last, values = jax.lax.scan(step, state, jnp.asarray(rows))
    return last, values.sum(axis=0)


JAX = Backend(jnp, special.gammaln, scan)


def log_density(posterior: Posterior) -> Callable[[jax.Array], jax.Array]:
    """Of one point (d,), or of many."""
    return lambda points: posterior.density(points, JAX)
