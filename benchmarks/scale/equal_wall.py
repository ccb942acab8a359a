r"""The error at the same wall clock, with batches and without, in virtual time.

A run is stopped after as much time as 2,000, 5,000 and 10,000 evaluations would take if no worker ever waited: moments
that are set beforehand and favor neither mode. The error is that of the mean of the weighted pool, the root mean square
over coordinates in standard deviations of the target, and the MMD is that of the 200 particles. What steinbox does
takes no time here, so that the table says what workers that wait are worth, and does not depend on the machine.

The last column is what more evaluations alone would do if the error went down with their square root: the square root
of the ratio of the evaluations that the two modes have made by then.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/equal_wall.py``. Rows go to
``benchmarks/results/scale_equal_wall.csv``; those that are there are not run again.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from virtual import TIMES, virtual_time

sys.path.insert(0, str(Path(__file__).parents[1] / "accuracy"))
from measures import reference
from problems import PROBLEMS

import steinbox as sb

RESULTS = Path(__file__).parents[1] / "results"
NAMES = (  # chosen before the first run: shapes that are learned soon, late, and not within 10,000 evaluations
    "gauss2",
    "banana2",
    "funnel10",
    "two_modes10",
    "ar30",
    "student_t8",
    "rotated_bananas10",
    "eight_schools",
    "scattered_modes6",
    "sinh_arcsinh8",
)
MEAN_SECONDS = {"lognormal": 0.05, "stragglers": 0.05 * (0.98 + 0.02 * 100)}
MODES, NUM_IDEAL = ("batches", "asynchronous"), (2_000, 5_000, 10_000)
FIELDS = ("problem", "times", "workers", "seed", "mode", "ideal", "error", "mmd", "num_evals")


def run(name: str, times: str, num_workers: int, seed: int, mode: str, num_ideal: int) -> tuple[float, float, int]:
    """Error, MMD and evaluations of a run that is stopped when its time is up."""
    problem, wall = PROBLEMS[name], MEAN_SECONDS[times] * num_ideal / num_workers
    with virtual_time(num_workers, TIMES[times], max_seconds=wall):
        result = sb.sample(
            lambda x: float(problem.log_prob(x[None])[0]),
            problem.initial,
            method=sb.AdaptiveImportanceSampling(stop_early=False),
            executor=1,
            asynchronous=mode == "asynchronous",
            progress=False,
            seed=seed,
        )
    mean, variance = reference(name).moments
    error = np.sqrt(np.mean((result.pool_weights @ result.pool - mean) ** 2 / variance))
    return float(error), reference(name).mmd(result.particles), result.num_evals


def add_rows(path: Path, names: list[str], num_workers: int, seeds: int) -> None:
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")
    done = {tuple(row[field] for field in FIELDS[:6]) for row in read(path)}
    for seed, name, times, ideal, mode in itertools.product(range(seeds), names, TIMES, NUM_IDEAL, MODES):
        key = (name, times, str(num_workers), str(seed), mode, str(ideal))
        if key in done:
            continue
        error, mmd, num_evals = run(name, times, num_workers, seed, mode, ideal)
        line = f"{','.join(key)},{error:.6g},{mmd:.6g},{num_evals}"
        with path.open("a") as file:
            file.write(line + "\n")
        print(line, flush=True)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(rows: list[dict[str, str]]) -> str:
    """Ratios, asynchronous to batches: of root mean squares over seeds, then geometric means over problems."""
    values: dict[tuple[str, ...], dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = row["times"], row["workers"], row["ideal"], row["problem"]
        cell = [float(row["error"]) ** 2, float(row["mmd"]) ** 2, float(row["num_evals"]) ** 2]
        values[key][row["mode"]].append(np.array(cell))
    ratios: dict[tuple[str, ...], list[np.ndarray]] = defaultdict(list)
    for key, modes in values.items():
        if set(modes) == set(MODES):
            both = [np.sqrt(np.mean(modes[mode], axis=0)) for mode in reversed(MODES)]
            ratios[key[:3]].append(both[0] / both[1])
    lines = [
        "| times | workers | time for (evaluations) | problems | evaluations | error | smallest | largest | MMD "
        "| by evaluations alone |",
        f"|{'---|' * 10}",
    ]
    for (times, workers, ideal), found in sorted(ratios.items(), key=lambda each: (each[0][0], int(each[0][2]))):
        each = np.array(found)
        error, mmd, evals = np.exp(np.nanmean(np.log(each), axis=0))
        smallest, largest = np.nanmin(each[:, 0]), np.nanmax(each[:, 0])
        lines.append(
            f"| {times} | {workers} | {int(ideal):,} | {len(each)} | {evals:.2f} | {error:.2f} | {smallest:.3f} "
            f"| {largest:.2f} | {mmd:.2f} | {evals**-0.5:.2f} |"
        )
    seeds = len({row["seed"] for row in rows})
    return "\n".join(
        [
            f"`python benchmarks/scale/equal_wall.py --seeds {seeds}`: asynchronous mode over batches at the same wall "
            "clock, geometric means over problems.\n",
            *lines,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(NAMES))
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=Path, default=RESULTS / "scale_equal_wall.csv")
    parser.add_argument("--table", type=Path, default=RESULTS / "scale_equal_wall.md")
    arguments = parser.parse_args()
    add_rows(arguments.rows, arguments.problems, arguments.workers, arguments.seeds)
    arguments.table.write_text(table(read(arguments.rows)) + "\n")
    print(table(read(arguments.rows)))


if __name__ == "__main__":
    main()
