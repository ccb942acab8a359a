"""dynesty with its own pool."""

import dynesty
import dynesty.pool
import numpy as np
from injections import DIMENSION, NOTHING_AROUND, Around, LogProb, Sample


def from_cube(u: np.ndarray) -> np.ndarray:
    return 10 * u - 5


def run(log_prob: LogProb, seed: int, around: Around = NOTHING_AROUND) -> Sample:
    rng = np.random.default_rng(seed)
    with dynesty.pool.Pool(2, log_prob, from_cube) as pool:
        sampler = dynesty.NestedSampler(pool.loglike, pool.prior_transform, DIMENSION, nlive=300, pool=pool, rstate=rng)
        around.show(pool.pool)
        sampler.run_nested(print_progress=False, checkpoint_file=around.checkpoint, checkpoint_every=0.5)
    sampler.results.summary()
    return Sample(sampler.results.samples_equal(rstate=rng))
