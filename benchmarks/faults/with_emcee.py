"""emcee with a pool of the standard library, as its manual has it."""

import multiprocessing

import emcee
import numpy as np
from injections import DIMENSION, NOTHING_AROUND, Around, LogProb, Sample, good_start

WALKERS, STEPS = 20, 500


def run(log_prob: LogProb, seed: int, around: Around = NOTHING_AROUND) -> Sample:
    np.random.seed(seed)  # noqa: NPY002  # emcee draws from the global generator
    with multiprocessing.Pool(2) as pool:
        around.show(pool)
        backend = emcee.backends.HDFBackend(around.checkpoint) if around.checkpoint else None
        sampler = emcee.EnsembleSampler(WALKERS, DIMENSION, log_prob, pool=pool, backend=backend)
        sampler.run_mcmc(good_start(WALKERS, seed), STEPS)
    return Sample(sampler.get_chain(discard=STEPS // 5, flat=True))
