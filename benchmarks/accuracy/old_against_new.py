"""The default before and after a change: MMD on all problems, and warnings.

Run ``python benchmarks/accuracy/old_against_new.py OLD.csv NEW.csv``, two files of ``run.py``; the table goes to
``benchmarks/results/old_against_new.md``. A ratio is that of the means over the seeds. It is beyond chance if Welch's
t-test of log MMD over the seeds gives a p-value below 0.05, divided by the number of problems (Bonferroni).
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from problems import PROBLEMS
from report import short, write
from scipy.stats import ttest_ind

LEVEL = 0.05


@dataclass(frozen=True)
class Run:
    """What came of one run of the default."""

    mmd: float
    num_warnings: int


Runs = dict[tuple[str, int], list[Run]]


def read(path: Path) -> Runs:
    """The runs of the default, by problem and budget."""
    runs: Runs = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["method"] == "default" and not row["error"]:
                runs[row["problem"], int(row["budget"])].append(Run(float(row["mmd"]), int(row["warnings"])))
    return runs


def table(old: Runs, new: Runs, budget: int) -> list[str]:
    """One line per problem, and a summary."""
    names = [name for name in PROBLEMS if (name, budget) in old and (name, budget) in new]
    lines = [
        f"With {budget:,} evaluations:",
        "",
        "| problem | before | after | ratio | beyond chance | runs with warnings, before | after |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for name in names:
        before, after = old[name, budget], new[name, budget]
        means = [np.mean([run.mmd for run in runs]) for runs in (before, after)]
        ratios.append(means[1] / means[0])
        warned = [f"{sum(run.num_warnings > 0 for run in runs)} of {len(runs)}" for runs in (before, after)]
        cells = [name, *map(short, means), f"{ratios[-1]:.2f}", differs(before, after, len(names)), *warned]
        lines.append(f"| {' | '.join(cells)} |")
    middle, num_worse = np.exp(np.mean(np.log(ratios))), sum(ratio > 1.25 for ratio in ratios)
    return [*lines, "", f"Geometric mean of the ratios: {middle:.3f}; above 1.25: {num_worse} of {len(names)}."]


def differs(before: list[Run], after: list[Run], num_problems: int) -> str:
    logs = [np.log([run.mmd for run in runs]) for runs in (before, after)]
    if np.array_equal(*map(np.sort, logs)):
        return ""
    return "yes" if ttest_ind(*logs, equal_var=False).pvalue < LEVEL / num_problems else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    arguments = parser.parse_args()
    old, new = read(arguments.old), read(arguments.new)
    lines = [f"`python benchmarks/accuracy/old_against_new.py`, {min(map(len, new.values()))} seeds or more, MMD."]
    for budget in sorted({key[1] for key in new}):
        lines += ["", *table(old, new, budget)]
    write("old_against_new", lines)


if __name__ == "__main__":
    main()
