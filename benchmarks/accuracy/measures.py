"""How far a method's points are from exact draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from problems import PROBLEMS

import steinbox as sb

NUM_POINTS, NUM_REFERENCE, NUM_FLOOR = 200, 5_000, 10
MEASURES = ("mmd", "mean_error", "variance_error", "log_prob_spread")


@dataclass(frozen=True, eq=False)
class Reference:
    """What a problem's exact draws look like."""

    draws: np.ndarray
    scale: np.ndarray
    log_prob_sd: float
    mean: np.ndarray
    variance: np.ndarray


@cache
def reference(name: str) -> Reference:
    """Exact draws of a problem, always the same."""
    problem = PROBLEMS[name]
    draws = problem.sample(NUM_REFERENCE, np.random.default_rng(1))
    scale = np.ones(problem.dimension)
    if problem.is_generated:
        scale = 0.5 * np.ptp(np.quantile(draws, [0.16, 0.84], axis=0), axis=0)
    return Reference(draws, scale, float(problem.log_prob(draws).std()), *problem.moments)


@cache
def floor(name: str) -> float:
    """The discrepancy of 200 exact draws, the mean of many such sets."""
    rng, problem = np.random.default_rng(4), PROBLEMS[name]
    return float(np.mean([measures(name, problem.sample(NUM_POINTS, rng))["mmd"] for _ in range(NUM_FLOOR)]))


def measures(name: str, points: np.ndarray) -> dict[str, float]:
    r"""The measures of (n, d) equally weighted points.

    - ``mmd``: maximum mean discrepancy to 5,000 exact draws, all pairs, with the kernel :math:`\exp(-\|x-y\|^2/med^2)`
      and the median distance of the exact draws. The scales of generated problems differ much: there, coordinates are
      in units of half the range that holds 68% of the exact draws.
    - ``mean_error``: squared error of the mean in units of the exact variance, mean over coordinates.
    - ``variance_error``: squared relative error of the variance, mean over coordinates.
    - ``log_prob_spread``: standard deviation of log p over that of exact draws. Below 1, tails are missing.
    """
    exact = reference(name)
    log_prob = PROBLEMS[name].log_prob(points)
    return {
        "mmd": sb.mmd(points / exact.scale, exact.draws / exact.scale),
        "mean_error": float(((points.mean(axis=0) - exact.mean) ** 2 / exact.variance).mean()),
        "variance_error": float(((points.var(axis=0) / exact.variance - 1) ** 2).mean()),
        "log_prob_spread": float(log_prob.std() / exact.log_prob_sd) if np.isfinite(log_prob).all() else np.inf,
    }
