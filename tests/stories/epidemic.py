"""An epidemic in a boarding school, as a user would fit it on a cluster: `python epidemic.py NUM_PROCESSES`."""

import os
import sys
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.integrate import odeint

import steinbox as sb

DAYS = np.arange(1, 15)
CASES = np.array([3, 8, 28, 75, 221, 291, 255, 235, 190, 126, 70, 28, 12, 5])


def log_likelihood(p):
    Path(f"worker-{os.getpid()}").touch()

    def slope(state, t):
        new = p["beta"] * state[0] * state[1] / p["num_pupils"]
        return [-new, new - p["gamma"] * state[1]]

    ill = odeint(slope, [p["num_pupils"] - p["i0"], p["i0"]], [0, *DAYS])[1:, 1]
    log_prob = stats.nbinom.logpmf(CASES, 10, 10 / (10 + np.maximum(ill, 1e-9))).sum()
    return log_prob, {"r0": p["beta"] / p["gamma"], "ill": ill}


MODEL = sb.Model(
    log_likelihood,
    prior={
        "beta": stats.lognorm(0.5, scale=1.5),
        "gamma": stats.make_distribution(stats.lognorm)(s=0.5) * 0.5,
        "i0": stats.expon(scale=2),
    },
)

if __name__ == "__main__":
    result = sb.sample(
        MODEL,
        fixed={"num_pupils": 763},
        num_particles=100,
        max_evals=1_500,
        executor=int(sys.argv[1]),
        checkpoint="epidemic.ckpt",
        seed=0,
    )
    result.save("epidemic.npz")
    print(result.status.name)
