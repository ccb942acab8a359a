"""A likelihood that is a program in C: `cc -o decay decay.c -lm && python decay_in_c.py`."""

from scipy import stats

import steinbox as sb
from steinbox.adapters import Subprocess

MODEL = sb.Model(
    Subprocess("./decay", input="text", timeout=60),
    prior=[stats.gamma(4, scale=15), stats.expon()],
    names=["start", "rate"],
    units={"rate": "1/s"},
)

if __name__ == "__main__":
    result = sb.sample(MODEL, num_particles=50, max_evals=600, seed=0)
    result.save("decay.npz")
    print(result.summary())
