"""steinbox, two processes of its own."""

import numpy as np
from injections import DIMENSION, Faulty, Sample

import steinbox as sb


def run(log_prob: Faulty, seed: int) -> Sample:
    start = sb.Gaussian(np.zeros(DIMENSION), std=3.0)
    result = sb.sample(
        log_prob, start, method=sb.AnnealedGFSVGD(), max_evals=10_000, executor=2, timeout=1.0, seed=seed
    )
    print(result)
    for kind, failure in result.failures.items():
        print(f"{kind}, {failure.count} times, the first {failure}")
    if not result.status.is_complete:
        raise RuntimeError(f"{result.status.name}: {result.status}")
    return Sample(result.particles, {kind: failure.count for kind, failure in result.failures.items()})
