"""zeus with a pool of the standard library, as its manual has it; a step takes about five evaluations a walker."""

import multiprocessing

import numpy as np
import zeus
from injections import DIMENSION, Faulty, Sample, good_start

WALKERS, STEPS = 20, 100


def run(log_prob: Faulty, seed: int) -> Sample:
    np.random.seed(seed)  # noqa: NPY002  # zeus draws from the global generator
    with multiprocessing.Pool(2) as pool:
        sampler = zeus.EnsembleSampler(WALKERS, DIMENSION, log_prob, pool=pool)
        sampler.run_mcmc(good_start(WALKERS, seed), STEPS, progress=False)
    _ = sampler.summary  # prints it
    return Sample(sampler.get_chain(discard=STEPS // 5, flat=True))
