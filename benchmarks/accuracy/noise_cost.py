"""What noise in log p costs the default: MMD with it and without, when it may stop early and when it spends all.

Normal noise of standard deviation 0.5 is added to every value; 200 points, at most 20,000 evaluations. It stops
when its evaluations are worth twenty times as many independent draws as there are points, and forty times if it is told
of noise: without it they are worth more than that says, since they are quasi-random.

Run ``python benchmarks/accuracy/noise_cost.py``; it takes about ten minutes.
"""

from __future__ import annotations

import run  # noqa: F401  # first: it sets the number of threads

# isort: split
import argparse
import platform
from datetime import date

import numpy as np
from counting import Counted
from measures import NUM_POINTS, measures
from problems import PROBLEMS
from report import short, write

import steinbox as sb

BUDGET = 20_000
NAMES = ("gmm25", "rbm20", "banana2")


def outcome(name: str, stop_early: bool, seed: int) -> tuple[float, int]:
    """MMD, and evaluations."""
    problem = PROBLEMS[name]
    log_prob = Counted(problem, BUDGET, seed)
    result = sb.sample(
        log_prob,
        problem.initial,
        method=sb.AdaptiveImportanceSampling(stop_early=stop_early),
        num_particles=NUM_POINTS,
        max_evals=BUDGET,
        vectorized=True,
        noise=True if problem.noise else None,
        progress=False,
        seed=seed,
    )
    return measures(name, result.particles)["mmd"], log_prob.num_evals


def line(name: str, stop_early: bool, num_seeds: int) -> str:
    """One line of the table."""
    without, noisy = (
        np.array([outcome(each, stop_early, seed) for seed in range(num_seeds)]).mean(axis=0)
        for each in (name, f"{name}_noise")
    )
    cells = [f"{short(mmd)} ({num_evals:,.0f})" for mmd, num_evals in (without, noisy)]
    when = "may stop early" if stop_early else "spends all"
    return f"| {name} | {when} | {' | '.join(cells)} | {noisy[0] / without[0] - 1:+.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/accuracy/noise_cost.py --seeds {arguments.seeds}`, {date.today()}, Python "
        f"{platform.python_version()}; MMD to 5,000 exact draws (evaluations), means over seeds.",
        "",
        "| problem | the default | without noise | with noise of sd 0.5 | cost |",
        "|---|---|---|---|---|",
    ]
    for name in NAMES:
        for stop_early in (True, False):
            lines.append(line(name, stop_early, arguments.seeds))
            print(lines[-1], flush=True)
    write("noise_cost", lines)


if __name__ == "__main__":
    main()
