"""How much of a target the default's family of densities loses, given exact draws: nothing else of the sampler matters.

For generated problems, the Kullback-Leibler divergence of the target from the density that ``sb.CurvedMixtures`` fits
to 2,000 exact draws, after four rounds in which components may be doubled, with and without Gaussianized maps.
``python benchmarks/accuracy/family.py`` prints a table.
"""

from __future__ import annotations

import argparse
import time
from datetime import date
from pathlib import Path

import numpy as np
from generator import generate

import steinbox as sb
from steinbox.densities.fitting.em import WeightedPoints

RESULTS = Path(__file__).parent.parent / "results"
PROBLEMS = (4, 8, 10, 24, 86, 120, 148, 172, 216, 242, 270, 366, 394, 68, 0, 116)
NUM_DRAWS, NUM_TEST_DRAWS, NUM_ROUNDS = 2_000, 4_000, 4


def divergence(number: int, family: sb.CurvedMixtures) -> tuple[float, float]:
    """In nats, and the seconds of the fits."""
    target, rng = generate(number).target, np.random.default_rng(0)
    sample = WeightedPoints(target.sample(NUM_DRAWS, rng), np.full(NUM_DRAWS, 1 / NUM_DRAWS), NUM_DRAWS)
    test = target.sample(NUM_TEST_DRAWS, rng)
    began, fitted = time.process_time(), None
    for _ in range(NUM_ROUNDS):
        fitted = family.choose(sample, rng, fitted)
    seconds = time.process_time() - began
    return float(np.mean(target.log_prob(test) - fitted.density.log_prob(test))), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", type=int, default=PROBLEMS)
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/accuracy/family.py`, {date.today()}. Divergence in nats, and the seconds of four fits.",
        "",
        "| problem | d | features | without Gaussianized maps | with them |",
        "|---|---|---|---|---|",
    ]
    for number in arguments.problems:
        problem = generate(number)
        cells = [divergence(number, sb.CurvedMixtures(gaussianized=each)) for each in (False, True)]
        values = " | ".join(f"{nats:.2f} ({seconds:.1f} s)" for nats, seconds in cells)
        lines.append(f"| {number} | {problem.target.dimension} | {', '.join(problem.features)} | {values} |")
        print(lines[-1], flush=True)
    (RESULTS / "family.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
