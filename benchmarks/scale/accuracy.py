r"""What it costs in accuracy that workers never wait: MMD at equal evaluations, with batches and without.

Both are run in virtual time, where one call in fifty takes a hundred times as long. What steinbox does takes no time,
so that points are as old as the number of workers makes them. A run may stop early: the evaluations of both, which are
not the same then, are in the table. The problems are those of ``benchmarks/accuracy/problems.py``; the noise of the
noisy ones is that of the point, the same in both modes.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/accuracy.py``. Rows go to
``benchmarks/results/scale_accuracy.csv``; those that are there are not run again. The table,
``benchmarks/results/scale_accuracy.md``, is made of all rows.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from virtual import stragglers, virtual_time

sys.path.insert(0, str(Path(__file__).parents[1] / "accuracy"))
from measures import reference
from problems import PROBLEMS

import steinbox as sb

RESULTS = Path(__file__).parents[1] / "results"
TABLE, ROWS = RESULTS / "scale_accuracy.md", RESULTS / "scale_accuracy.csv"
FIELDS = ("problem", "workers", "budget", "seed", "mode", "mmd", "num_evals", "num_warnings")
MODES = ("batches", "asynchronous")


def run(name: str, seed: int, num_workers: int, budget: int, mode: str) -> sb.Result:
    problem = PROBLEMS[name]

    def log_prob(x: np.ndarray) -> float:
        value = float(problem.log_prob(x[None])[0])
        if problem.noise > 0:
            value += problem.noise * np.random.default_rng(x.view(np.uint64)).standard_normal()
        return value

    with virtual_time(num_workers, stragglers(0.05)):
        return sb.sample(
            log_prob,
            problem.initial,
            max_evals=budget,
            noise=True if problem.noise > 0 else None,
            executor=1,
            asynchronous=mode == "asynchronous",
            progress=False,
            seed=seed,
        )


def add_rows(path: Path, names: list[str], seeds: int, num_workers: int, budget: int) -> None:
    """What is missing in the file."""
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")
    done = {tuple(row[field] for field in FIELDS[:5]) for row in read(path)}
    for seed in range(seeds):
        for name in names:
            for mode in MODES:
                key = (name, str(num_workers), str(budget), str(seed), mode)
                if key in done:
                    continue
                result = run(name, seed, num_workers, budget, mode)
                mmd = reference(name).mmd(result.particles)
                row = (*key, f"{mmd:.6f}", str(result.num_evals), str(len(result.warnings)))
                with path.open("a") as file:
                    file.write(",".join(row) + "\n")
                print(*row, flush=True)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(rows: list[dict[str, str]]) -> str:
    """Means over the seeds that both modes have, one line for each problem."""
    values: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
    for row in rows:
        cell = float(row["mmd"]), float(row["num_evals"])
        values.setdefault(row["problem"], {}).setdefault(row["seed"], {})[row["mode"]] = cell
    lines = [
        "| problem | MMD, batches | asynchronous | ratio | evaluations, batches | asynchronous |",
        f"|{'---|' * 6}",
    ]
    ratios = []
    for name, by_seed in values.items():
        complete = [[modes[mode] for mode in MODES] for modes in by_seed.values() if len(modes) == len(MODES)]
        if not complete:
            continue
        (batches, num_batches), (apart, num_apart) = np.mean(complete, axis=0)
        ratios.append(apart / batches)
        cells = f"{batches:.4f} | {apart:.4f} | {ratios[-1]:.2f} | {num_batches:,.0f} | {num_apart:,.0f}"
        lines.append(f"| {name} | {cells} |")
    seeds, (workers,), (budget,) = ({row[key] for row in rows} for key in ("seed", "workers", "budget"))
    numbers = f"{workers} workers, {int(budget):,} evaluations at most; seeds {', '.join(sorted(seeds))}"
    mean, worst = np.exp(np.mean(np.log(ratios))), max(ratios)
    return "\n".join(
        [
            f"`python benchmarks/scale/accuracy.py`: {numbers}; {len(ratios)} of the {len(PROBLEMS)} problems.\n",
            *lines,
            f"\nRatios: geometric mean {mean:.3f}, median {np.median(ratios):.3f}, largest {worst:.2f}; "
            f"{sum(each > 1.05 for each in ratios)} above 1.05 and {sum(each < 0.95 for each in ratios)} below .95.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--table", type=Path, default=TABLE)
    arguments = parser.parse_args()
    add_rows(arguments.rows, arguments.problems, arguments.seeds, arguments.workers, arguments.budget)
    arguments.table.write_text(table(read(arguments.rows)) + "\n")
    print(table(read(arguments.rows)))


if __name__ == "__main__":
    main()
