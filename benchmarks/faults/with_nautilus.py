"""nautilus with ``pool=2``."""

import multiprocessing

import nautilus
import numpy as np
from injections import DIMENSION, NOTHING_AROUND, Around, LogProb, Sample


def from_cube(u: np.ndarray) -> np.ndarray:
    return 10 * u - 5


def run(log_prob: LogProb, seed: int, around: Around = NOTHING_AROUND) -> Sample:
    pool = 2 if around.spoil_pool is None else multiprocessing.Pool(2)
    around.show(pool)
    settings = {"n_dim": DIMENSION, "n_live": 300, "pool": pool, "seed": seed, "filepath": around.checkpoint}
    sampler = nautilus.Sampler(from_cube, log_prob, **settings)
    sampler.run(n_eff=5_000, timeout=around.max_seconds or np.inf)
    print(f"{sampler.n_like} evaluations, log Z = {sampler.log_z}, effective sample size {sampler.n_eff}")
    points, _, _ = sampler.posterior(equal_weight=True)
    return Sample(points)
