"""steinbox and its peers at equal numbers of log-density evaluations.

Every method gets the same start, the same log-density through one counting wrapper, and returns 200 equally weighted
points, which are compared with exact draws. The rows go to ``benchmarks/results/accuracy.csv``; those that are there
already are not run again. ``report.py`` makes tables and pictures of them.

Runs are done in processes of their own. One that takes longer than the limit is ended, and gets a row that says so, as
does one that fails.

Run ``pip install -e . -r benchmarks/requirements.txt``, then ``python benchmarks/accuracy/run.py``.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import csv
import importlib
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass, fields
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock

import numpy as np
import ours
from counting import Counted
from measures import NUM_POINTS, measures
from problems import PROBLEMS

RESULTS = Path(__file__).parent.parent / "results" / "accuracy.csv"
PEERS = ("emcee", "emcee_de", "zeus", "dynesty", "pocomc", "pymc_smc", "blackjax", "evosax")
METHODS = ("exact", *ours.METHODS, *PEERS)


@dataclass(frozen=True)
class Task:
    """One run."""

    problem: str
    method: str
    budget: int
    seed: int


@dataclass(frozen=True)
class Row:
    """What came of it."""

    problem: str
    method: str
    budget: int
    seed: int
    mmd: float | str = ""
    mean_error: float | str = ""
    variance_error: float | str = ""
    log_prob_spread: float | str = ""
    evaluations: int | str = ""
    seconds: float | str = ""
    warnings: int | str = ""
    error: str = ""

    def __str__(self) -> str:
        outcome = self.error or f"MMD {self.mmd:.4f}, {self.evaluations:,} evaluations, {self.seconds:.1f} s"
        return f"{self.problem}, {self.method}, {self.budget:,}, seed {self.seed}: {outcome}"


def points_of(task: Task, log_prob: Counted) -> tuple[np.ndarray, int | str]:
    """The method's points, and the number of its warnings if it is one of ours."""
    if task.method == "exact":
        return log_prob.problem.sample(NUM_POINTS, np.random.default_rng([task.seed, 3])), ""
    if task.method in ours.METHODS:
        return ours.run(task.method, log_prob, task.seed)
    peer = importlib.import_module(f"peers.with_{task.method}")
    return peer.run(log_prob.problem, log_prob, task.budget, task.seed), ""


PointsOf = Callable[[Task, Counted], tuple[np.ndarray, int | str]]


def done(task: Task, points_of: PointsOf = points_of) -> Row:
    """Run it here."""
    log_prob = Counted(PROBLEMS[task.problem], task.budget, task.seed)
    start = time.perf_counter()
    try:
        points, num_warnings = points_of(task, log_prob)
        seconds = round(time.perf_counter() - start, 2)
        numbers = {name: float(f"{value:.5g}") for name, value in measures(task.problem, points).items()}
        return Row(**asdict(task), **numbers, evaluations=log_prob.num_evals, seconds=seconds, warnings=num_warnings)
    except Exception as error:
        seconds, text = round(time.perf_counter() - start, 2), " ".join(f"{type(error).__name__}: {error}".split())
        return Row(**asdict(task), evaluations=log_prob.num_evals, seconds=seconds, error=text[:200])


def serve(connection: Connection, points_of: PointsOf) -> None:
    """In the child process: run what comes, until that is nothing; what the libraries print is not shown."""
    warnings.simplefilter("ignore")
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        while (task := connection.recv()) is not None:
            connection.send(done(task, points_of))


class Worker:
    """A process that runs one task after another, and is replaced when one takes too long or kills it."""

    def __init__(self, limit: float, points_of: PointsOf) -> None:
        self.limit, self.points_of, self.process = limit, points_of, None

    def __call__(self, task: Task) -> Row:
        if self.process is None:
            self._start()
        self.connection.send(task)
        try:
            if self.connection.poll(self.limit):
                return self.connection.recv()
            error = f"no end after {self.limit:g} s"
        except EOFError:
            error = "its process died"
        self.process.kill()
        self.stop()
        return Row(**asdict(task), error=error)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, self.points_of), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        if self.process is not None:
            with suppress(BrokenPipeError):
                self.connection.send(None)
            self.process.join()
            self.process = None


class Journal:
    """The file with the rows, which several threads may append to."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, Lock()
        if not path.exists():
            self._write([[field.name for field in fields(Row)]])

    def tasks(self) -> set[Task]:
        """Those that are done."""
        with self.path.open(newline="") as file:
            return {
                Task(row["problem"], row["method"], int(row["budget"]), int(row["seed"]))
                for row in csv.DictReader(file)
            }

    def append(self, row: Row) -> None:
        with self.lock:
            self._write([asdict(row).values()])
            print(row, flush=True)

    def _write(self, lines: list) -> None:
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


def planned(arguments: argparse.Namespace) -> Iterator[Task]:
    """All runs; those of one method follow each other, so that what it loads and compiles is used again."""
    for seed in range(arguments.seeds):
        for method in arguments.methods:
            for problem in arguments.problems:
                if method in ours.METHODS and not ours.is_possible(method, PROBLEMS[problem].score is not None):
                    continue
                for budget in [0] if method == "exact" else arguments.budgets:
                    yield Task(problem, method, budget, seed)


def run_all(tasks: list[Task], journal: Journal, limit: float, jobs: int, points_of: PointsOf = points_of) -> None:
    """Those that are not done yet, in so many processes side by side."""
    finished = journal.tasks()
    tasks = [task for task in tasks if task not in finished]
    print(f"{len(tasks)} runs to do, {len(finished)} done before", flush=True)

    def run_share(share: list[Task]) -> None:
        worker = Worker(limit, points_of)
        for task in share:
            journal.append(worker(task))
        worker.stop()

    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(run_share, tasks[k::jobs]) for k in range(jobs)]:
            future.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="PROBLEM")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--budgets", nargs="+", type=int, default=[5_000, 20_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a run may take")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    run_all(list(planned(arguments)), Journal(arguments.output), arguments.limit, arguments.jobs)


if __name__ == "__main__":
    main()
