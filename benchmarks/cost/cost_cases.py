"""Thirteen cheap problems as cases of the runner in ``benchmarks/published``: errors can be measured to a hundredth.

They are the eight of README's table and the five of ``benchmarks/accuracy`` on which nothing was chosen.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from case import Case
from scipy import stats

sys.path.append(str(Path(__file__).parent.parent / "accuracy"))

from problems import PROBLEMS, Problem

NAMES = (
    *("gmm25", "rbm20", "banana2", "ten_bananas20", "funnel10", "off_centre_modes10", "ar30", "eight_schools"),
    *("spiral2", "cubic_valley3", "crescents4", "turned_funnel6", "independent_ts8"),
)
BUDGETS = (500, 2_000, 5_000, 20_000)
NUM_FOR_MOMENTS = 500_000


def case_of(problem: Problem) -> Case:
    start = problem.initial
    factors = [stats.norm(*each) for each in zip(start.mean, np.sqrt(np.diag(start.cov)), strict=True)]
    return Case(
        problem.name,
        problem.log_prob,
        factors,
        np.nan,
        problem.sample,
        BUDGETS,
        None,
        has_prior=False,
        moments=moments(problem),
    )


def moments(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Of many exact draws; means and variances exactly where they are known."""
    draws = problem.sample(NUM_FOR_MOMENTS, np.random.default_rng(2))
    mean, cov = draws.mean(axis=0), np.cov(draws.T)
    if problem.exact_moments is None:
        return mean, cov
    exact, variance = problem.exact_moments
    ratio = np.sqrt(variance / np.diag(cov))
    return exact, cov * np.outer(ratio, ratio)


def cases() -> list[Case]:
    return [case_of(PROBLEMS[name]) for name in NAMES]
