"""Are ranks uniform? The test of simulation-based calibration.

If parameters are drawn from the prior, data from the likelihood at these, and draws from the posterior of the data, the
rank of the parameter among L draws is uniform on 0, …, L (Talts et al., 2018, *Validating Bayesian inference algorithms
with simulation-based calibration*).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import stats

NUM_SIMULATED = 20_000  # sets of uniform ranks


@cache
def tails(num_runs: int, num_draws: int) -> np.ndarray:
    """Twice the smaller tail, at each rank but the last, of each count of runs that do not exceed it, (N + 1, L)."""
    shares = np.arange(1, num_draws + 1) / (num_draws + 1)
    counts = np.arange(num_runs + 1)[:, None]
    below, above = stats.binom.cdf(counts, num_runs, shares), stats.binom.sf(counts - 1, num_runs, shares)
    return 2 * np.minimum(below, above)


def most_extreme(counts: np.ndarray) -> np.ndarray:
    """The smallest tail over the ranks of histograms (…, L + 1)."""
    cumulated = counts.cumsum(axis=-1)
    num_runs, num_draws = int(cumulated.reshape(-1)[-1]), counts.shape[-1] - 1
    return tails(num_runs, num_draws)[cumulated[..., :-1], np.arange(num_draws)].min(axis=-1)


@cache
def simulated(num_runs: int, num_draws: int) -> np.ndarray:
    """What uniform ranks have."""
    rng = np.random.default_rng(1)
    return np.sort(most_extreme(rng.multinomial(num_runs, np.full(num_draws + 1, 1 / (num_draws + 1)), NUM_SIMULATED)))


def p_value(ranks: np.ndarray, num_draws: int) -> float:
    """That uniform ranks are as far from uniform somewhere.

    The statistic is that of Säilynoja, Bürkner & Vehtari (2022, *Statistics and Computing* 32); it sees ranks that are
    too often in the middle or at the ends, or on one side.
    """
    observed = most_extreme(np.bincount(ranks, minlength=num_draws + 1))
    num_smaller = np.searchsorted(simulated(len(ranks), num_draws), observed * (1 + 1e-12), side="right")
    return float((1 + num_smaller) / (1 + NUM_SIMULATED))


def covered(shares: np.ndarray, level: float) -> tuple[float, float, float]:
    """How often the central interval of this probability holds the truth, with a 95% interval of that.

    ``shares`` are the posterior probabilities below the truth.
    """
    held = int((np.abs(shares - 0.5) <= level / 2).sum())
    interval = stats.binomtest(held, len(shares)).proportion_ci()
    return held / len(shares), float(interval.low), float(interval.high)


def bar_range(num_runs: int, num_bars: int) -> tuple[float, float]:
    """Between which one bar of a histogram of uniform ranks is with a probability of 95%."""
    low, high = stats.binom.interval(0.95, num_runs, 1 / num_bars)
    return float(low), float(high)
