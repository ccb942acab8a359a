"""The real posteriors as cases of the runner in ``benchmarks/published``: the truth is the stored reference."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from case import Case
from posteriors import NAMES, find_posterior
from scipy import stats

REFERENCE = Path(__file__).parent.parent / "results" / "real" / "reference.npz"
BUDGETS = (5_000, 20_000)


@cache
def reference(name: str) -> dict[str, np.ndarray]:
    """Draws, moments of all draws that these are taken from, log-evidence with its error, and checks."""
    with np.load(REFERENCE) as file:
        return {key: file[f"{name}.{key}"] for key in ("draws", "mean", "cov", "log_evidence", "checks")}


def case_of(name: str) -> Case:
    posterior, known = find_posterior(name), reference(name)
    draws = known["draws"].astype(np.float64)

    def sample(num_points: int, rng: np.random.Generator) -> np.ndarray:
        return draws if num_points >= len(draws) else rng.choice(draws, num_points, replace=False)

    return Case(
        name,
        posterior.log_prob,
        [stats.norm(*each) for each in posterior.start],
        float(known["log_evidence"][0]),
        sample,
        BUDGETS,
        None,
        has_prior=False,
        has_exact_draws=False,
        moments=(known["mean"], known["cov"]),
    )


def cases() -> list[Case]:
    with np.load(REFERENCE) as file:
        known = [name for name in NAMES if f"{name}.draws" in file]
    return [case_of(name) for name in known]
