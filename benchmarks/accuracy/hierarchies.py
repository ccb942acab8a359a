"""Centered hierarchies drawn at random: is the neck of the funnel found, and by which part of the default?

4 to 25 effects with errors between .5 and 1.5, whose true deviation is between 0 and 1, so that most of the posterior's
mass is near or in the neck. Numbers 0 to 9 are for development; 10 to 29 were run once, when everything was decided.

``python benchmarks/accuracy/hierarchies.py`` runs the variants that are not in ``benchmarks/results/hierarchies.csv``
yet, and writes ``hierarchies.md``: for each, over all problems and seeds, the MMD of 200 points over that of 200 exact
draws, the worst errors of means (in posterior deviations) and of deviations (relative), and the warnings.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import csv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date

import numpy as np
from extra_targets import NormalHierarchy

import steinbox as sb
from steinbox.samplers.adaptive import DEFAULT_PROPOSERS, ThinTail

RESULTS = run.RESULTS.with_name("hierarchies.csv")
NUM_DEVELOPMENT = 10
NUM_DRAWS, NUM_POINTS, NUM_FLOOR = 100_000, 200, 10
MAX_ERROR = 0.15  # of a posterior deviation, or of its size: beyond, a run is wrong
COLUMNS = ("number", "variant", "budget", "seed", "mmd", "mean", "std", "warnings", "evaluations")
PROPOSERS = [each for each in DEFAULT_PROPOSERS if not isinstance(each, ThinTail)]
FAMILY = sb.CurvedMixtures(hierarchical=False)
VARIANTS = {
    "as shipped": sb.AdaptiveImportanceSampling(),
    "no draws along thin tails": sb.AdaptiveImportanceSampling(proposers=PROPOSERS),
    "no hierarchies": sb.AdaptiveImportanceSampling(family=FAMILY),
    "neither": sb.AdaptiveImportanceSampling(family=FAMILY, proposers=PROPOSERS),
}

Task = tuple[int, str, int, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", nargs="+", type=int, default=range(10, 30))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--budgets", nargs="+", type=int, default=[5_000, 20_000])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    tasks = [
        (number, variant, budget, seed)
        for seed in range(arguments.seeds)
        for number in arguments.numbers
        for budget in arguments.budgets
        for variant in arguments.variants
    ]
    done = {task_of(row) for row in read()}
    with ProcessPoolExecutor(arguments.jobs) as pool, RESULTS.open("a", newline="") as file:
        writer = csv.writer(file)
        if file.tell() == 0:
            writer.writerow(COLUMNS)
        for future in as_completed([pool.submit(measure, task) for task in tasks if task not in done]):
            writer.writerow(future.result())
            file.flush()
            print(*future.result(), flush=True)
    text = "\n".join(report(read())) + "\n"
    print(text)
    RESULTS.with_suffix(".md").write_text(text)


def draw(number: int) -> NormalHierarchy:
    """The problem of this number."""
    rng = np.random.default_rng([78, number])
    num_effects, deviation, mean = rng.integers(4, 26), rng.choice([0.0, 0.2, 0.5, 1.0]), rng.uniform(-3, 3)
    errors = rng.uniform(0.5, 1.5, num_effects)
    return NormalHierarchy(rng.normal(mean, np.hypot(deviation, errors)), errors, scale=1.0)


def measure(task: Task) -> tuple[object, ...]:
    """A row."""
    number, variant, budget, seed = task
    target, rng = draw(number), np.random.default_rng(1)
    result = sb.sample(
        target.log_prob,
        sb.Gaussian(np.zeros(target.dimension), std=2.0),
        method=VARIANTS[variant],
        num_particles=NUM_POINTS,
        max_evals=budget,
        vectorized=True,
        progress=False,
        seed=seed,
    )
    exact = target.sample(NUM_DRAWS, rng)
    scale, reference = exact.std(axis=0), exact[:5_000] / exact.std(axis=0)
    sets = rng.choice(exact, (NUM_FLOOR, NUM_POINTS)) / scale
    floor = np.mean([sb.mmd(each, reference) for each in sets])
    mean = result.pool_weights @ result.pool
    std = np.sqrt(result.pool_weights @ (result.pool - mean) ** 2)
    return (
        *task,
        f"{sb.mmd(result.particles / scale, reference) / floor:.3f}",
        f"{np.abs((mean - exact.mean(axis=0)) / scale).max():.3f}",
        f"{np.abs(std / scale - 1).max():.3f}",
        len(result.warnings),
        result.num_evals,
    )


def task_of(row: dict[str, str]) -> Task:
    return int(row["number"]), row["variant"], int(row["budget"]), int(row["seed"])


def read() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def report(rows: list[dict[str, str]]) -> Iterator[str]:
    yield (
        f"`python benchmarks/accuracy/hierarchies.py`, {date.today()}; steinbox {sb.__version__}. Centered hierarchies "
        f"drawn at random; medians. Wrong: a mean or a deviation off by more than {MAX_ERROR}."
    )
    yield (
        "\n| problems | variant | evaluations | runs | MMD / floor | mean, worst | sd, worst | wrong | wrong, silent | "
        + "right, warned |\n"
        + "|---" * 10
        + "|"
    )
    for group, is_in in (("development", lambda n: n < NUM_DEVELOPMENT), ("report", lambda n: n >= NUM_DEVELOPMENT)):
        for budget in sorted({int(row["budget"]) for row in rows}):
            for variant in VARIANTS:
                some = [
                    row
                    for row in rows
                    if is_in(int(row["number"])) and row["variant"] == variant and int(row["budget"]) == budget
                ]
                if some:
                    yield line(group, variant, budget, some)


def line(group: str, variant: str, budget: int, rows: list[dict[str, str]]) -> str:
    mmd, mean, std, warnings = (
        np.array([float(row[key]) for row in rows]) for key in ("mmd", "mean", "std", "warnings")
    )
    is_wrong, is_warned = np.maximum(mean, std) > MAX_ERROR, warnings > 0
    counts = f"{is_wrong.sum()} | {(is_wrong & ~is_warned).sum()} | {(~is_wrong & is_warned).sum()}"
    medians = f"{np.median(mmd):.2f} | {np.median(mean):.3f} | {np.median(std):.3f}"
    return f"| {group} | {variant} | {budget:,} | {len(rows)} | {medians} | {counts} |"


if __name__ == "__main__":
    main()
