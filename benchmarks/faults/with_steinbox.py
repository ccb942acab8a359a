"""steinbox, two processes of its own."""

import multiprocessing

import numpy as np
from injections import DIMENSION, NOTHING_AROUND, Around, LogProb, Sample

import steinbox as sb


def run(log_prob: LogProb, seed: int, around: Around = NOTHING_AROUND) -> Sample:
    start = sb.Gaussian(np.zeros(DIMENSION), std=3.0)
    executor = 2 if around.spoil_pool is None else multiprocessing.Pool(2)
    around.show(executor)
    settings = {"max_evals": 10_000, "seed": seed, "checkpoint": around.checkpoint}
    settings |= {"max_seconds": around.max_seconds, "timeout": 1.0 if around.max_seconds is None else None}
    result = sb.sample(log_prob, start, method=sb.AnnealedGFSVGD(), executor=executor, **settings)
    print(result)
    for kind, failure in result.failures.items():
        print(f"{kind}, {failure.count} times, the first {failure}")
    unfinished = "" if result.status.is_complete else result.status.name
    failures = {kind: failure.count for kind, failure in result.failures.items()}
    return Sample(result.particles, failures, unfinished)
