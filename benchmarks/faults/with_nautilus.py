"""nautilus with ``pool=2``."""

import nautilus
import numpy as np
from injections import DIMENSION, Faulty, Sample


def from_cube(u: np.ndarray) -> np.ndarray:
    return 10 * u - 5


def run(log_prob: Faulty, seed: int) -> Sample:
    sampler = nautilus.Sampler(from_cube, log_prob, n_dim=DIMENSION, n_live=300, pool=2, seed=seed)
    sampler.run(n_eff=5_000)
    print(f"{sampler.n_like} evaluations, log Z = {sampler.log_z}, effective sample size {sampler.n_eff}")
    points, _, _ = sampler.posterior(equal_weight=True)
    return Sample(points)
