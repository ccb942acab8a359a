"""emcee with a pool of the standard library, as its manual has it."""

import multiprocessing

import emcee
import numpy as np
from injections import DIMENSION, Faulty, Sample, good_start

WALKERS, STEPS = 20, 500


def run(log_prob: Faulty, seed: int) -> Sample:
    np.random.seed(seed)  # noqa: NPY002  # emcee draws from the global generator
    with multiprocessing.Pool(2) as pool:
        sampler = emcee.EnsembleSampler(WALKERS, DIMENSION, log_prob, pool=pool)
        sampler.run_mcmc(good_start(WALKERS, seed), STEPS)
    return Sample(sampler.get_chain(discard=STEPS // 5, flat=True))
