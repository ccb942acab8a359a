"""dynesty with its own pool."""

import dynesty
import dynesty.pool
import numpy as np
from injections import DIMENSION, Faulty, Sample


def from_cube(u: np.ndarray) -> np.ndarray:
    return 10 * u - 5


def run(log_prob: Faulty, seed: int) -> Sample:
    rng = np.random.default_rng(seed)
    with dynesty.pool.Pool(2, log_prob, from_cube) as pool:
        sampler = dynesty.NestedSampler(pool.loglike, pool.prior_transform, DIMENSION, nlive=300, pool=pool, rstate=rng)
        sampler.run_nested(print_progress=False)
    sampler.results.summary()
    return Sample(sampler.results.samples_equal(rstate=rng))
