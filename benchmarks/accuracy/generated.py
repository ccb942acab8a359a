"""The default and three peers on problems drawn at random, which nobody has tuned anything to.

Even numbers are for development, odd ones for the report: these are run once, when everything is decided. A run is
wrong if its MMD is above twice that of 200 exact draws, the floor; silent if it does not warn.

Run ``python benchmarks/accuracy/generated.py --first 0 --number 40`` (``--first 1`` for those of the report); rows go
to ``benchmarks/results/generated.csv``, and those that are there are not run again. The tables, ``generated.md`` and
``generated_problems.md``, are of all rows.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
from generator import generate
from measures import floor
from problems import PROBLEMS

RESULTS = Path(__file__).parent.parent / "results"
PEERS = ("emcee", "emcee_de", "smc")
GROUPS = ("development", "report")

Key = tuple[str, str, int]  # problem, method, budget
Rows = dict[Key, list[dict[str, str]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--number", type=int, default=40, help="of problems: every second from the first")
    parser.add_argument("--methods", nargs="+", choices=run.METHODS, default=["default", *PEERS])
    parser.add_argument("--budgets", nargs="+", type=int, default=[5_000, 20_000])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--output", type=Path, default=RESULTS / "generated.csv")
    arguments = parser.parse_args()
    names = [f"generated{arguments.first + 2 * k}" for k in range(arguments.number)]
    arguments.problems = names
    run.run_all(list(run.planned(arguments)), run.Journal(arguments.output), arguments.limit, arguments.jobs)
    rows, path = read(arguments.output), arguments.output
    for table, file in (
        (report(rows), path.with_suffix(".md")),
        (details(rows), path.with_name("generated_problems.md")),
    ):
        text = "\n".join(table)
        print(text)
        file.write_text(text + "\n")


def read(path: Path) -> Rows:
    """The rows of every problem, method and budget."""
    rows = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            rows[row["problem"], row["method"], int(row["budget"])].append(row)
    return rows


def report(rows: Rows) -> Iterator[str]:
    """Summaries of both groups."""
    yield (
        f"`python benchmarks/accuracy/generated.py`, {date.today()}. MMD of 200 points over the floor, that of 200 "
        "exact draws; wrong: above 2; ahead: below the best of emcee, emcee with DE moves, and SMC; worse: above 1.2 "
        "times the error with 5,000 evaluations."
    )
    yield (
        "\n| problems | evaluations | number | median | 9 in 10 | above 2 | wrong, silent | right, warned | ahead | "
        + ("worse |\n" + "|---" * 10 + "|")
    )
    for group in GROUPS:
        for budget in sorted({key[2] for key in rows}):
            yield from summary(rows, group, budget)
    yield from kinds(rows)


def kinds(rows: Rows) -> Iterator[str]:
    """Of the report, how many problems of a kind are right."""
    largest = max(key[2] for key in rows)
    names = [name for name, method, size in rows if method == "default" and size == largest]
    names = [name for name in names if PROBLEMS[name].group == "report"]
    yield f"\n| report, {largest:,} evaluations | number | right | the best peer right |\n|---|---|---|---|"
    for title, word in (("regressions", "regression"), ("several modes", "modes")):
        some = [name for name in names if any(word in each for each in generate(number(name)).features)]
        right = sum(mean(rows, name, "default", largest) <= 2 for name in some)
        peer = sum(min(mean(rows, name, each, largest) for each in PEERS) <= 2 for name in some)
        yield f"| {title} | {len(some)} | {right} | {peer} |"


def details(rows: Rows) -> Iterator[str]:
    """All problems."""
    yield "MMD over the floor; means over the seeds.\n"
    yield "| problem | d | features | evaluations | default | emcee | emcee_de | smc | warned |\n" + "|---" * 9 + "|"
    for name, budget in sorted({(key[0], key[2]) for key in rows}, key=lambda each: (number(each[0]), each[1])):
        yield line(rows, name, budget)


def summary(rows: Rows, group: str, budget: int) -> Iterator[str]:
    names = [name for name, method, size in rows if method == "default" and size == budget]
    names = [name for name in names if PROBLEMS[name].group == group]
    if not names:
        return
    runs = [(relative(name, row), int(row["warnings"] or 0)) for name in names for row in rows[name, "default", budget]]
    values, warned = np.array([each[0] for each in runs]), np.array([each[1] > 0 for each in runs])
    ahead = sum(
        mean(rows, name, "default", budget) < min(mean(rows, name, peer, budget) for peer in PEERS) for name in names
    )
    yield (
        f"| {group} | {budget:,} | {len(names)} | {np.median(values):.2f} | {np.quantile(values, 0.9):.2f} | "
        f"{(values > 2).sum()} | {((values > 2) & ~warned).sum()} | {((values <= 2) & warned).sum()} | {ahead} | "
        f"{num_worse(rows, names, budget)} |"
    )


def num_worse(rows: Rows, names: list[str], budget: int) -> str:
    """Problems whose error is above 1.2 times that with the fewest evaluations, of those run with both."""
    smallest = min(size for _, method, size in rows if method == "default")
    both = [name for name in names if (name, "default", smallest) in rows] if budget > smallest else []
    worse = [name for name in both if mean(rows, name, "default", budget) > 1.2 * mean(rows, name, "default", smallest)]
    return f"{len(worse)} of {len(both)}" if both else ""


def line(rows: Rows, name: str, budget: int) -> str:
    drawn = generate(number(name))
    cells = [f"{mean(rows, name, method, budget):.2f}" for method in ("default", *PEERS)]
    warnings = sum(int(row["warnings"] or 0) > 0 for row in rows.get((name, "default", budget), []))
    features = ", ".join(drawn.features)
    return f"| {name} | {drawn.target.dimension} | {features} | {budget:,} | {' | '.join(cells)} | {warnings or ''} |"


def number(name: str) -> int:
    return int(name.removeprefix("generated"))


def relative(name: str, row: dict[str, str]) -> float:
    """MMD over the floor; a run that failed is infinitely far off."""
    return float(row["mmd"]) / floor(name) if row["mmd"] else np.inf


def mean(rows: Rows, name: str, method: str, budget: int) -> float:
    """Over the seeds; what was not run is infinitely far off."""
    return float(np.mean([relative(name, row) for row in rows.get((name, method, budget), [])] or [np.inf]))


if __name__ == "__main__":
    main()
