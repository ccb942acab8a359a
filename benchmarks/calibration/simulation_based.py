"""Simulation-based calibration of the default: parameters from the prior, data from these, and the default's posterior.

A row has the rank of each parameter among 99 draws of the result, and of the log-likelihood, which sees what single
parameters do not (Modrák et al., 2023); and the weight of the pool below each. Rows go to
``benchmarks/results/calibration.csv``; those that are there are not run again.

Run ``make bench-calibration``, or ``python benchmarks/calibration/simulation_based.py --jobs 2`` and then
``calibration_report.py``.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import csv
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "published"))

import numpy as np
from rows import read
from run import version
from simulators import SIMULATORS

import steinbox as sb

RESULTS = Path(__file__).parent.parent / "results" / "calibration.csv"
NUM_DRAWS = 99


@dataclass(frozen=True)
class Task:
    """One run: the number is the seed of the truth, of the data and of the sampler."""

    model: str
    budget: int
    number: int


@dataclass(frozen=True)
class Row:
    """What came of it; several numbers in a cell are in the order of the parameters, the log-likelihood last."""

    model: str
    budget: int
    number: int
    ranks: str
    below: str
    evaluations: int
    warnings: int
    seconds: float
    version: str
    date: str


def run_task(task: Task) -> Row:
    warnings.simplefilter("ignore")
    simulator, rng = SIMULATORS[task.model], np.random.default_rng([task.number, 1])
    truth = simulator.draw(rng)
    data = simulator.simulate(truth, rng)
    density, start = simulator.posterior(data)
    before = time.process_time()
    result = sb.sample(density, start, max_evals=task.budget, vectorized=True, progress=False, seed=task.number)
    seconds = time.process_time() - before

    def quantities(points: np.ndarray) -> np.ndarray:
        return np.column_stack([points, simulator.log_likelihood(points, data)])

    exact = quantities(truth[None])[0]
    ranks = (quantities(result.draws(NUM_DRAWS, rng)) < exact).sum(axis=0)
    below = result.pool_weights @ (quantities(result.pool) < exact)
    return Row(
        **asdict(task),
        ranks=" ".join(map(str, ranks)),
        below=" ".join(f"{share:.4f}" for share in below),
        evaluations=result.num_evals,
        warnings=len(result.warnings),
        seconds=round(seconds, 2),
        version=version(),
        date=str(date.today()),
    )


def append(row: Row, path: Path) -> None:
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=SIMULATORS, default=list(SIMULATORS))
    parser.add_argument("--budget", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    finished = {Task(row["model"], int(row["budget"]), int(row["number"])) for row in read(arguments.output)}
    numbers = range(arguments.first, arguments.first + arguments.runs)
    tasks = [Task(model, arguments.budget, number) for number in numbers for model in arguments.models]
    tasks = [task for task in tasks if task not in finished]
    print(f"{len(tasks)} runs to do, {len(finished)} done before", flush=True)
    with ProcessPoolExecutor(arguments.jobs) as executor:
        for future in as_completed([executor.submit(run_task, task) for task in tasks]):
            row = future.result()
            append(row, arguments.output)
            print(row.model, row.number, row.ranks, row.evaluations, row.warnings, row.seconds, flush=True)


if __name__ == "__main__":
    main()
