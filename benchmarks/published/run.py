"""Runs a method on the suites of four papers, other people's targets, budgets and measures, or on real posteriors.

Rows go to ``benchmarks/results/published/<suite>.csv``, each with the version and the date; those that are there are
not run again, so that a run can be stopped and resumed at any time. ``report.py`` makes the tables.

Run ``make bench-published``, or ``python benchmarks/published/run.py --jobs 2``; ``make bench-real``, or ``python
benchmarks/published/run.py --suites real --output benchmarks/results/real``.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import csv
import platform
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
from case import Case
from measures import NAMES, Truth
from methods import Counted, find_method, version_of
from rows import read
from suites import PUBLISHED, SUITES, cases_of

import steinbox as sb

RESULTS = Path(__file__).parent.parent / "results" / "published"


@dataclass(frozen=True)
class Task:
    """One run."""

    suite: str
    case: str
    method: str
    budget: int
    seed: int


COLUMNS = (
    *(field.name for field in fields(Task)),
    *NAMES,
    *("evaluations", "seconds", "cpu_seconds", "density_seconds", "warnings", "error", "version", "date"),
)


class TimeIsUp(BaseException):
    """Not an ``Exception``: a method that goes on after one that the density raised must not go on after this."""


@cache
def truth_of(suite: str, case: str) -> Truth:
    return Truth.of(cases_of(suite)[case])


@cache
def version() -> str:
    """Of steinbox, with the last commit that changed it, and of what it rests on."""
    command = ["git", "-C", str(Path(__file__).parent), "log", "-1", "--format=%h", "--", "../../src"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return f"steinbox {sb.__version__} {commit}, NumPy {np.__version__}, Python {platform.python_version()}"


def stop(*_: object) -> None:
    raise TimeIsUp


def run_task(task: Task, limit: float = 0) -> dict[str, object]:
    """One row; one that fails, or takes more than so many seconds of processor time, says so."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, stop)
    case = cases_of(task.suite)[task.case]
    log_likelihood, start, cpu_start = Counted(case, task.seed), time.perf_counter(), time.process_time()
    row: dict[str, object] = asdict(task)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        answer = find_method(task.method)(case, log_likelihood, task.budget, task.seed)
        row["seconds"] = round(time.perf_counter() - start, 2)
        row["cpu_seconds"] = round(time.process_time() - cpu_start, 2)
        row["density_seconds"] = round(log_likelihood.cpu_seconds, 2)
        signal.setitimer(signal.ITIMER_PROF, 0)
        measured = truth_of(task.suite, task.case).compare(answer)
        row |= {name: float(f"{value:.5g}") for name, value in asdict(measured).items()}
        row["warnings"] = answer.num_warnings
    except TimeIsUp:
        row["error"] = f"no end after {limit:g} s of processor time"
    except Exception as error:
        row["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    made = {"version": version_of(task.method) + version(), "date": str(date.today())}
    return row | {"evaluations": log_likelihood.num_evals} | made


def planned(arguments: argparse.Namespace) -> Iterator[Task]:
    """Published budgets of all suites first, seed by seed: a run that is stopped has the rows that matter most."""
    chosen = [
        (suite, case)
        for suite in arguments.suites
        for name, case in cases_of(suite).items()
        if (not arguments.cases or name in arguments.cases) and name not in arguments.without
    ]
    for phase in range(arguments.num_budgets):
        for suite in arguments.suites:
            for seed in range(arguments.seeds):
                for each, case in chosen:
                    budgets = arguments.budgets or in_order(case)
                    if each == suite and phase < len(budgets):
                        yield Task(suite, case.name, arguments.method, budgets[phase], seed)


def in_order(case: Case) -> list[int]:
    """The published budget first; where none was printed, the one in the middle."""
    first = case.printed_budget or case.budgets[len(case.budgets) // 2]
    return sorted(case.budgets, key=lambda budget: (budget != first, budget))


def task_of(row: dict[str, str]) -> Task:
    return Task(row["suite"], row["case"], row["method"], int(row["budget"]), int(row["seed"]))


def append(row: dict[str, object], folder: Path) -> None:
    """A file keeps the columns that it began with."""
    path = folder / f"{row['suite']}.csv"
    known = read(path)
    with path.open("a", newline="") as file:
        columns = list(known[0]) if known else COLUMNS
        writer = csv.DictWriter(file, columns, restval="", extrasaction="ignore", lineterminator="\n")
        if not known:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(PUBLISHED))
    parser.add_argument("--cases", nargs="+", default=[], help="only these")
    parser.add_argument("--without", nargs="+", default=[], help="not these cases")
    parser.add_argument("--method", default="default")
    parser.add_argument("--num-budgets", type=int, default=3, help="of each target; 1 for that of the paper alone")
    parser.add_argument("--budgets", nargs="+", type=int, default=[], help="others than those of the target")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--limit", type=float, default=0, help="processor seconds that a run may take; 0: any number")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    finished = {task_of(row) for suite in arguments.suites for row in read(arguments.output / f"{suite}.csv")}
    tasks = [task for task in planned(arguments) if task not in finished]
    print(f"{len(tasks)} runs to do, {len(finished)} done before", flush=True)
    with ProcessPoolExecutor(arguments.jobs) as executor:
        for future in as_completed([executor.submit(run_task, task, arguments.limit) for task in tasks]):
            row = future.result()
            append(row, arguments.output)
            outcome = row.get("error") or f"{row['log_z_error']:+.3f} MMTV {row['mmtv']:.3f} GsKL {row['gskl']:.2g}"
            print(row["case"], row["budget"], row["seed"], outcome, row.get("cpu_seconds"), flush=True)


if __name__ == "__main__":
    main()
