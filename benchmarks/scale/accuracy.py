r"""What it costs in accuracy that workers never wait: MMD at equal evaluations, with batches and without.

Both are run in virtual time, where one call in fifty takes a hundred times as long. What steinbox does takes no time,
so that points are as old as the number of workers makes them. A run may stop early: the evaluations of both, which are
not the same then, are in the table.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/accuracy.py``; the table goes to
``benchmarks/results/scale_accuracy.md``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from virtual import stragglers, virtual_time

sys.path.insert(0, str(Path(__file__).parents[1] / "accuracy"))
from measures import reference
from problems import PROBLEMS

import steinbox as sb

RESULTS = Path(__file__).parents[1] / "results" / "scale_accuracy.md"
NAMES = (
    "banana2",
    "student_t8",
    "half_normal10",
    "two_modes10",
    "scattered_modes6",
    "funnel10",
    "off_centre_modes10",
    "mixed_modes5",
)


def run(name: str, seed: int, num_workers: int, budget: int, *, asynchronous: bool) -> tuple[float, int]:
    """MMD and evaluations of one run."""
    problem = PROBLEMS[name]
    with virtual_time(num_workers, stragglers(0.05)):
        result = sb.sample(
            lambda x: float(problem.log_prob(x[None])[0]),
            problem.initial,
            max_evals=budget,
            executor=1,
            asynchronous=asynchronous,
            progress=False,
            seed=seed,
        )
    return reference(name).mmd(result.particles), result.num_evals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=NAMES)
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/scale/accuracy.py --workers {arguments.workers} --seeds {arguments.seeds}`, "
        f"{arguments.budget:,} evaluations at most.\n",
        "| problem | MMD, batches | asynchronous | ratio | evaluations, batches | asynchronous |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    ratios = []
    for name in arguments.problems:
        runs = {
            mode: np.array(
                [
                    run(name, seed, arguments.workers, arguments.budget, asynchronous=mode)
                    for seed in range(arguments.seeds)
                ]
            ).mean(axis=0)
            for mode in (False, True)
        }
        ratios.append(runs[True][0] / runs[False][0])
        cells = [name, *(f"{runs[mode][0]:.4f}" for mode in runs), f"{ratios[-1]:.2f}"]
        cells += [f"{runs[mode][1]:,.0f}" for mode in runs]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    lines.append(f"\nGeometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.3f}.")
    print(lines[-1])
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
