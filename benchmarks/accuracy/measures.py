"""How far a method's points are from exact draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from problems import PROBLEMS, Problem

import steinbox as sb

NUM_POINTS, NUM_REFERENCE, NUM_FLOOR = 200, 5_000, 10
FLOORS = Path(__file__).parent.parent / "results" / "floors.csv"
MEASURES = ("mmd", "mean_error", "variance_error", "log_prob_spread")


@dataclass(frozen=True, eq=False)
class Reference:
    """What a problem's exact draws look like."""

    problem: Problem
    draws: np.ndarray
    scale: np.ndarray

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances."""
        return self.problem.moments

    @cached_property
    def log_prob_sd(self) -> float:
        return float(self.problem.log_prob(self.draws).std())

    def mmd(self, points: np.ndarray) -> float:
        """The maximum mean discrepancy from the exact draws."""
        return sb.mmd(points / self.scale, self.draws / self.scale)


@cache
def reference(name: str) -> Reference:
    """Exact draws of a problem, always the same."""
    problem = PROBLEMS[name]
    draws = problem.sample(NUM_REFERENCE, np.random.default_rng(1))
    scale = np.ones(problem.dimension)
    if problem.is_generated:
        scale = 0.5 * np.ptp(np.quantile(draws, [0.16, 0.84], axis=0), axis=0)
    return Reference(problem, draws, scale)


@cache
def floor(name: str) -> float:
    """The discrepancy of 200 exact draws, the mean of many such sets; kept in a file, since it takes a second."""
    known = dict(line.split(",") for line in FLOORS.read_text().split()) if FLOORS.exists() else {}
    if name not in known:
        rng, exact = np.random.default_rng(4), reference(name)
        value = np.mean([exact.mmd(exact.problem.sample(NUM_POINTS, rng)) for _ in range(NUM_FLOOR)])
        known[name] = f"{value:.6f}"
        with FLOORS.open("a") as file:
            file.write(f"{name},{known[name]}\n")
    return float(known[name])


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
    (mean, variance), log_prob = exact.moments, exact.problem.log_prob(points)
    return {
        "mmd": exact.mmd(points),
        "mean_error": float(((points.mean(axis=0) - mean) ** 2 / variance).mean()),
        "variance_error": float(((points.var(axis=0) / variance - 1) ** 2).mean()),
        "log_prob_spread": float(log_prob.std() / exact.log_prob_sd) if np.isfinite(log_prob).all() else np.inf,
    }
