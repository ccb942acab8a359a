"""Leave-one-out cross-validation by ArviZ: `python leave_one_out.py`.

It runs with ArviZ 0.2x, which Python 3.11 gets, and with 1.x, which needs Python 3.12: to try the other one, make an
environment of it, `pip install "steinbox[arviz,plot]"` there, and run this file. It fails if a number is wrong.

The model is the mean of normal observations, so that what cross-validation estimates is known exactly: each observation
has a normal predictive distribution given all others.
"""

import warnings

warnings.simplefilter("ignore")  # what ArviZ and its own dependencies have to say

import arviz as az  # noqa: E402
import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

import steinbox as sb  # noqa: E402

OBSERVED = np.array([1.2, 0.7, 1.9, 3.1, -0.4, 1.1, 2.2, 0.3, 1.6, 0.9])
PRIOR_SD = 5.0


def log_likelihood(p):
    each = stats.norm.logpdf(OBSERVED, p["mean"], 1.0)
    return each.sum(), {"log_likelihood": each, "square": p["mean"] ** 2}


def exact_elpd():
    """The sum of log N(y_i; m_i, 1 + v): the posterior of the mean given the others is N(m_i, v)."""
    variance = 1 / (len(OBSERVED) - 1 + PRIOR_SD**-2)
    means = variance * (OBSERVED.sum() - OBSERVED)
    return stats.norm.logpdf(OBSERVED, means, np.sqrt(1 + variance)).sum()


if __name__ == "__main__":
    model = sb.Model(log_likelihood, prior={"mean": stats.norm(0, PRIOR_SD)}, units={"mean": "m"})
    result = sb.sample(model, num_particles=100, max_evals=4_000, seed=0)
    data = result.to_arviz()
    loo = az.loo(data)
    found = float(getattr(loo, "elpd", getattr(loo, "elpd_loo", np.nan)))
    print(f"ArviZ {az.__version__}: elpd {found:.3f}, exact {exact_elpd():.3f}")
    assert abs(found - exact_elpd()) < 0.05, "leave-one-out is wrong"
    if hasattr(az, "waic"):
        assert abs(float(az.waic(data).elpd_waic) - exact_elpd()) < 0.1, "WAIC is wrong"
    table = az.summary(data)
    mean, size = (float(table[column]["mean"]) for column in ("mean", "ess_bulk"))
    assert abs(mean - result.mean[0]) < 5 * result.mean_error[0] + 1e-3, "the mean is wrong"
    assert 0.7 < size / result.effective_sample_size < 1.4, "the effective sample size is not what the pool is worth"
    assert size < 0.99 * result.num_evals, "the effective sample size is that of all points"
    assert data["posterior"]["mean"].attrs["units"] == "m"
    az.plot_pair(data)
    print("summary, loo and plot_pair are right")
