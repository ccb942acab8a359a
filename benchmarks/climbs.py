"""Whether a climb arrives, and what it costs: development problems, from the best of 50 draws of the start.

A climb has arrived if it came upon a point as dense as all but a fiftieth of exact draws. Run
``python benchmarks/climbs.py``; the table goes to ``benchmarks/results/climbs.md``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "accuracy"))

from generator import Generated, generate

from steinbox.numerics.climb import start_climb

NUMBERS = (0, 2, 4, 6, 8, 12, 14, 16, 20, 24, 28, 32, 36, 46, 48, 52, 56, 60, 62, 64, 66, 68, 72, 74, 76, 78)
NUM_SEEDS, MAX_EVALS = 2, 7_000
OUTPUT = Path(__file__).parent / "results" / "climbs.md"


def climb(problem: Generated, seed: int) -> tuple[int | None, int]:
    """Evaluations until it has arrived (None if it never has), and until its end."""
    rng, log_prob = np.random.default_rng(seed), problem.target.log_prob
    draws = rng.standard_normal((50, problem.target.dimension))
    best = draws[np.argmax(log_prob(problem.start_mean + problem.start_std * draws))]
    dense = np.quantile(log_prob(problem.target.sample(2000, rng)), 0.02)
    ascent, arrived = start_climb(best), None
    while not ascent.is_done and ascent.num_evals < MAX_EVALS:
        values = log_prob(problem.start_mean + problem.start_std * ascent.ask())
        ascent = ascent.tell(values)
        arrived = ascent.num_evals if arrived is None and values.max() > dense else arrived
    return arrived, ascent.num_evals


def main() -> None:
    lines, outcomes = ["| problem | d | features | arrived after | ended after |", "|---|---|---|---|---|"], []
    for number in NUMBERS:
        problem = generate(number)
        runs = [climb(problem, seed) for seed in range(NUM_SEEDS)]
        dimension = problem.target.dimension
        outcomes += [(arrived is not None, ended / dimension) for arrived, ended in runs]
        cells = [
            ", ".join("never" if each is None else f"{each:,}" for each in column) for column in zip(*runs, strict=True)
        ]
        lines.append(f"| generated{number} | {dimension} | {', '.join(problem.features)} | {' | '.join(cells)} |")
    arrived, costs = np.array(outcomes).T
    cost = f"{np.median(costs):.0f} evaluations per dimension (median)"
    lines += ["", f"{arrived.sum():.0f} of {len(outcomes)} climbs arrived; {cost}."]
    print("\n".join(lines))
    OUTPUT.write_text("`python benchmarks/climbs.py`\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
