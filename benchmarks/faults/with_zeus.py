"""zeus with a pool of the standard library, as its manual has it; a step takes about five evaluations a walker."""

import multiprocessing

import numpy as np
import zeus
from injections import DIMENSION, NOTHING_AROUND, Around, LogProb, Sample, good_start

WALKERS, STEPS = 20, 100


def run(log_prob: LogProb, seed: int, around: Around = NOTHING_AROUND) -> Sample:
    np.random.seed(seed)  # noqa: NPY002  # zeus draws from the global generator
    with multiprocessing.Pool(2) as pool:
        sampler = zeus.EnsembleSampler(WALKERS, DIMENSION, log_prob, pool=pool)
        around.show(pool)
        save = [zeus.callbacks.SaveProgressCallback(around.checkpoint, ncheck=10)] if around.checkpoint else None
        sampler.run_mcmc(good_start(WALKERS, seed), STEPS, progress=False, callbacks=save)
    _ = sampler.summary  # prints it
    return Sample(sampler.get_chain(discard=STEPS // 5, flat=True))
