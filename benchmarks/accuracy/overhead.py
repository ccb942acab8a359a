"""What the default sampler costs beside the target, and how good it is with few evaluations.

Seconds are of the processor, without those inside the target; memory is the peak of what was allocated on top, in a run
of its own. The first table ends with checks: 20,000 evaluations in 25 dimensions take at most 0.1 ms each, 400 in 100
dimensions at most 2 s, the problems that take longest at most 10 s, and memory grows no faster than the number of
evaluations. If one of them fails, so does the command.

Run ``python benchmarks/accuracy/overhead.py``; emcee's columns need emcee.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import importlib.util
import platform
import sys
import time
import tracemalloc
import warnings
from dataclasses import dataclass
from datetime import date

import numpy as np
from problems import PROBLEMS, Problem, problem
from report import short, write

import steinbox as sb

FEW_IN_MANY_DIMENSIONS = ("ar30", "ar100", "ar300")
SLOWEST = ("rotated_bananas10", "sine_valleys8", "ten_bananas20", "ar60")
CASES = (
    ("gauss2", 600),
    ("banana2", 1_000),
    ("two_modes10", 1_500),
    ("gmm25", 5_000),
    ("gmm25", 20_000),
    ("ar60", 5_000),
    ("ar60", 20_000),
    *((name, 400) for name in FEW_IN_MANY_DIMENSIONS),
    *((name, 20_000) for name in SLOWEST if name != "ar60"),
)
MOST_MS_PER_EVALUATION = 0.1  # of 20,000 in 25 dimensions
MOST_SECONDS_FOR_FEW = 2.0  # 400 evaluations in 100 dimensions
MOST_SECONDS = 10.0  # any problem, 20,000 evaluations
FEW = (600, 1_000, 1_500)
SMALL_PROBLEMS = ("gauss2", "banana2", "ring2", "two_modes10", "logistic", "student_t8", "random_effects8")
RIVALS = ("default", "smc", "emcee")


@dataclass(frozen=True)
class Cost:
    """Of one problem and budget."""

    problem: str
    evaluations: int
    seconds: float
    megabytes: float

    def __str__(self) -> str:
        dimension, per_point = problem_of(self.problem).dimension, 1e6 * self.megabytes / self.evaluations
        return (
            f"| {self.problem} | {dimension} | {self.evaluations:,} | {self.seconds:.2f} | "
            f"{1e3 * self.seconds / self.evaluations:.2f} | {self.megabytes:.1f} | {per_point / (8 * dimension):.1f} |"
        )


def problem_of(name: str) -> Problem:
    """Of the benchmark, or the autoregression of this dimension."""
    if name in PROBLEMS:
        return PROBLEMS[name]
    return problem(name, "overhead", sb.targets.autoregressive(int(name.removeprefix("ar"))))


def sampled(name: str, budget: int, seed: int) -> tuple[int, float]:
    """How many points the default evaluated, and its seconds outside the target."""
    problem, inside = problem_of(name), 0.0

    def log_prob(points: np.ndarray) -> np.ndarray:
        nonlocal inside
        start = time.process_time()
        values = problem.log_prob(points)
        inside += time.process_time() - start
        return values

    start = time.process_time()
    result = sb.sample(
        log_prob, problem.initial, num_particles=200, max_evals=budget, vectorized=True, progress=False, seed=seed
    )
    return result.num_evals, time.process_time() - start - inside


def cost(name: str, budget: int, num_seeds: int) -> Cost:
    """The median over the seeds of the seconds, and the memory of the first seed."""
    runs = [sampled(name, budget, seed) for seed in range(num_seeds)]
    tracemalloc.start()
    sampled(name, budget, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    found = Cost(name, runs[0][0], float(np.median([seconds for _, seconds in runs])), peak / 1e6)
    print(found, flush=True)
    return found


def checks(costs: dict[tuple[str, int], Cost]) -> dict[str, bool]:
    seconds = {case: each.seconds for case, each in costs.items()}
    per_evaluation, in_many = 1e3 * seconds["gmm25", 20_000] / 20_000, seconds["ar100", 400]
    slowest = max(SLOWEST, key=lambda name: seconds[name, 20_000])
    found = {
        f"20,000 evaluations in 25-D: {per_evaluation:.2f} ms each, at most {MOST_MS_PER_EVALUATION:g} allowed": (
            per_evaluation <= MOST_MS_PER_EVALUATION
        ),
        f"400 evaluations in 100-D: {in_many:.2f} s, at most {MOST_SECONDS_FOR_FEW:g} allowed": (
            in_many <= MOST_SECONDS_FOR_FEW
        ),
        f"the slowest, {slowest}: {seconds[slowest, 20_000]:.1f} s, at most {MOST_SECONDS:g} allowed": (
            seconds[slowest, 20_000] <= MOST_SECONDS
        ),
    }
    for name in ("gmm25", "ar60"):
        few, many = costs[name, 5_000], costs[name, 20_000]
        more, heavier = many.evaluations / few.evaluations, many.megabytes / few.megabytes
        found[f"{name}: {more:.1f} times the evaluations take {heavier:.1f} times the memory"] = heavier <= more
    return found


def small_budget_row(problem: str, methods: tuple[str, ...], num_seeds: int) -> str:
    """The MMD of every method with every small budget, a dash if a run failed."""
    cells = []
    for method, budget in [("exact", 0), *((method, budget) for method in methods for budget in FEW)]:
        rows = [run.done(run.Task(problem, method, budget, seed)) for seed in range(num_seeds)]
        cells.append("–" if any(row.error for row in rows) else short(float(np.mean([row.mmd for row in rows]))))
    row = f"| {problem} | {' | '.join(cells)} |"
    print(row, flush=True)
    return row


def write_costs(heading: str, num_seeds: int) -> bool:
    """Whether all checks are passed."""
    sampled("gauss2", 600, 0)  # what is loaded at the first use is not counted
    costs = {case: cost(*case, num_seeds) for case in CASES}
    verdicts = checks(costs)
    lines = [
        "| problem | d | evaluations | processor seconds | ms per evaluation | peak MB | peak / the points alone |",
        "|---|---|---|---|---|---|---|",
        *map(str, costs.values()),
        "",
        *(f"- {text}: {'yes' if is_so else '**no**'}." for text, is_so in verdicts.items()),
    ]
    write("overhead", [f"{heading} Seconds are medians over the seeds.", "", *lines])
    return all(verdicts.values())


def write_small_budgets(heading: str, num_seeds: int) -> None:
    methods = tuple(name for name in RIVALS if name != "emcee" or importlib.util.find_spec("emcee"))
    columns = ["exact", *(f"{method}, {budget:,}" for method in methods for budget in FEW)]
    lines = [f"| problem | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    lines += [small_budget_row(problem, methods, num_seeds) for problem in SMALL_PROBLEMS]
    what = f"MMD to 5,000 exact draws, 200 points, {num_seeds} seeds; exact are 200 exact draws."
    write("small_budgets", [f"{heading} {what}", "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="+", choices=("overhead", "small_budgets"), help="both, if not given")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    heading = (
        f"`python benchmarks/accuracy/overhead.py --seeds {arguments.seeds}`, {date.today()}; Python "
        f"{platform.python_version()}, NumPy {np.__version__}, steinbox {sb.__version__}, one thread."
    )
    if arguments.tables is None or "small_budgets" in arguments.tables:
        write_small_budgets(heading, arguments.seeds)
    if (arguments.tables is None or "overhead" in arguments.tables) and not write_costs(heading, arguments.seeds):
        sys.exit("a check failed: see overhead.md")


if __name__ == "__main__":
    main()
