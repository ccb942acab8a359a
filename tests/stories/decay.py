"""A model file for the command line: radioactive decay, counted."""

import time

import numpy as np
from scipy import stats

import steinbox as sb

TIMES, COUNTS = np.array([0.0, 1.0, 2.0, 4.0]), np.array([52, 30, 21, 6])
fixed = {"background": 1.0}


def log_likelihood(p):
    time.sleep(0.001)
    expected = p["background"] + p["start"] * np.exp(-p["rate"] * TIMES)
    return stats.poisson.logpmf(COUNTS, expected).sum(), {"half_life": np.log(2) / p["rate"]}


posterior = sb.Model(
    log_likelihood,
    prior={"start": stats.gamma(4, scale=15), "rate": stats.expon()},
    units={"rate": "1/s", "half_life": "s"},
)
descriptions = {"start": "counts at time zero"}
