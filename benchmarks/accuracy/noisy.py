"""Noise in log p, declared and not: the error of the log-evidence, MMD over the floor, and the particles' own density.

Normal noise of standard deviation 0.5, 1 and 3 is added to every value of targets in 1 to 9 dimensions; the default
has 2,000 evaluations for 200 points. Published targets with noise are in ``benchmarks/published/part_a.py``.

Run ``python benchmarks/accuracy/noisy.py``.
"""

from __future__ import annotations

import run  # noqa: F401  # first: it sets the number of threads

# isort: split
import argparse
import platform
from collections.abc import Iterator
from datetime import date

import numpy as np
from measures import NUM_POINTS, floor, measures, reference
from problems import PROBLEMS, problem
from report import write

import steinbox as sb

BUDGET = 2_000
STDS = (0.5, 1.0, 3.0)
NAMES = ("two_modes1", "generated16", "generated42", "generated28")  # on which nothing of the smoothing was chosen
PROBLEMS["two_modes1"] = problem(
    "two_modes1", "test", sb.GaussianMixture([sb.Gaussian([-2.0], std=1.0), sb.Gaussian([3.0], std=0.5)], [0.6, 0.4])
)
FIRST_SEED = 100  # smaller ones were looked at while the smoothing was made


def outcome(name: str, std: float, is_declared: bool, seed: int) -> tuple[float, float, float]:
    """MMD over the floor, the error of the log-evidence, and of the mean of log p over the particles."""
    target, rng = PROBLEMS[name], np.random.default_rng([seed, 1])
    result = sb.sample(
        lambda x: target.log_prob(x) + std * rng.standard_normal(len(x)),
        target.initial,
        num_particles=NUM_POINTS,
        max_evals=BUDGET,
        vectorized=True,
        noise=std if is_declared else None,
        progress=False,
        seed=seed,
    )
    exact = target.log_prob(reference(name).draws).mean()
    discrepancy = measures(name, result.particles)["mmd"] / floor(name)
    return discrepancy, abs(result.log_evidence), float(target.log_prob(result.particles).mean() - exact)


def lines(seeds: range) -> Iterator[str]:
    """The first table."""
    yield "| problem | d | sd | not declared | declared |"
    yield "|---|---|---|---|---|"
    for name in NAMES:
        for std in STDS:
            cells = []
            for is_declared in (False, True):
                values = np.array([outcome(name, std, is_declared, seed) for seed in seeds])
                cells.append(" / ".join(f"{value:.2f}" for value in values.mean(axis=0)))
            yield f"| {name} | {PROBLEMS[name].dimension} | {std:g} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    text = [
        f"`python benchmarks/accuracy/noisy.py --seeds {arguments.seeds}`, {date.today()}, Python "
        f"{platform.python_version()}; {BUDGET:,} evaluations, {NUM_POINTS} points. MMD over that of exact draws / "
        "error of the log-evidence / mean log p of the particles (without noise) minus that of exact draws; means over "
        "seeds.",
        "",
    ]
    for line in lines(range(FIRST_SEED, FIRST_SEED + arguments.seeds)):
        text.append(line)
        print(line, flush=True)
    write("noisy", text)


if __name__ == "__main__":
    main()
