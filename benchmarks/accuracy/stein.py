"""The default gradient-free Stein sampler beside its former self, the gradient-based one, emcee and SMC.

All methods have 20,000 evaluations and 200 particles. "Before" is the interpolant without a quadratic form, built anew
for every move. Rows go to ``benchmarks/results/stein.csv``; those that are there already are not run again. Figures of
emcee and SMC are the means over all seeds in ``accuracy.csv``; 28 rows of "before" and 17 of the gradient-based sampler
are copies of that file's, made by the same settings. The table in ``stein.md`` has the MMD (mean over seeds)
of each method, that of 200 exact draws, and the number of warnings of the sampler as it is.

Run ``python benchmarks/accuracy/stein.py [--seeds 0 1] [--report]``.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import ours
from counting import Counted
from measures import floor
from peers.points import resampled
from problems import PROBLEMS

import steinbox as sb

RESULTS = run.RESULTS.with_name("stein.csv")
BUDGET = 20_000
NOW, BEFORE, GRADIENT = "annealed_gf_svgd", "before", "annealed_svgd"
METHODS = {
    NOW: sb.AnnealedGFSVGD(),
    BEFORE: sb.AnnealedGFSVGD(surrogate=sb.surrogates.Interpolant(quadratic_variances=(0.0,), max_moves=1)),
    GRADIENT: sb.AnnealedSVGD(),
}
PEERS = ("emcee", "smc")
MAX_RATIO = 1.5  # to the gradient-based sampler: the goal
WRONG = 2.0  # times the MMD of exact draws

Figures = dict[tuple[str, str], list[float]]


def points_of(task: run.Task, log_prob: Counted) -> tuple[np.ndarray, int]:
    """The particles, and the number of warnings."""
    result = ours.sample(METHODS[task.method], log_prob, task.seed)
    return resampled(result.particles, result.weights, task.seed), len(result.warnings)


def planned(arguments: argparse.Namespace) -> list[run.Task]:
    return [
        run.Task(problem, method, BUDGET, seed)
        for seed in arguments.seeds
        for method in arguments.methods
        for problem in arguments.problems
        if method != GRADIENT or PROBLEMS[problem].score is not None
    ]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["mmd"] and int(row["budget"]) == BUDGET]


def figures_of(rows: list[dict[str, str]]) -> Figures:
    """The MMDs by problem and method."""
    figures: Figures = defaultdict(list)
    for row in rows:
        figures[row["problem"], row["method"]].append(float(row["mmd"]))
    return figures


def cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f}" if values else ""


def table(rows: list[dict[str, str]], peers: Figures) -> list[str]:
    """One line per problem."""
    figures = figures_of(rows)
    lines = [
        "| problem | exact draws | before | now | with the gradient | emcee | SMC | runs that warn |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in PROBLEMS:
        warned = [int(row["warnings"]) > 0 for row in rows if (row["problem"], row["method"]) == (name, NOW)]
        if warned:
            own = [cell(figures[name, method]) for method in (BEFORE, NOW, GRADIENT)]
            others = [cell(peers[name, peer]) for peer in PEERS]
            cells = [name, f"{floor(name):.3f}", *own, *others, f"{sum(warned)} of {len(warned)}"]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def summary(rows: list[dict[str, str]], peers: Figures) -> list[str]:
    """How often the goals are met."""
    figures, now = figures_of(rows), [row for row in rows if row["method"] == NOW]
    names = list(dict.fromkeys(row["problem"] for row in now))
    mean = {key: float(np.mean(values)) for key, values in (figures | peers).items() if values} | {
        key: float(np.mean(values)) for key, values in figures.items()
    }
    with_score = [name for name in names if (name, GRADIENT) in mean]
    close = [name for name in with_score if mean[name, NOW] <= MAX_RATIO * mean[name, GRADIENT]]
    ahead = [name for name in names if all(mean[name, NOW] < mean.get((name, peer), np.inf) for peer in PEERS)]
    both = [name for name in names if (name, BEFORE) in mean]
    ratios = [mean[name, NOW] / mean[name, BEFORE] for name in both]
    wrong = [row for row in now if float(row["mmd"]) > WRONG * floor(row["problem"])]
    silent = [row for row in wrong if int(row["warnings"]) == 0]
    far = [f"{name} ({mean[name, NOW] / mean[name, GRADIENT]:.1f})" for name in with_score if name not in close]
    better, worse = sum(ratio < 0.8 for ratio in ratios), sum(ratio > 1.25 for ratio in ratios)
    return [
        f"- Within {MAX_RATIO} times the gradient-based sampler: {len(close)} of {len(with_score)}; "
        f"not: {', '.join(far) or 'none'}.",
        f"- Below emcee and SMC: {len(ahead)} of {len(names)}.",
        f"- Over its former self: {np.exp(np.mean(np.log(ratios))):.2f} of the MMD, the geometric mean over "
        f"{len(both)} problems; {better} better and {worse} worse by a quarter.",
        f"- Wrong (above {WRONG:g} times exact draws): {len(wrong)} of {len(now)} runs, {len(silent)} of them silent.",
    ]


def report(path: Path) -> None:
    rows, peers = rows_of(path), figures_of(rows_of(run.RESULTS))
    seeds = sorted({int(row["seed"]) for row in rows})
    heading = f"`python benchmarks/accuracy/stein.py --seeds {' '.join(map(str, seeds))}`, steinbox {sb.__version__}"
    text = "\n".join([heading, "", *summary(rows, peers), "", *table(rows, peers), ""])
    print(text)
    path.with_suffix(".md").write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), metavar="PROBLEM")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a run may take")
    parser.add_argument("--report", action="store_true", help="make the table of what is there")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if not arguments.report:
        run.run_all(planned(arguments), run.Journal(arguments.output), arguments.limit, jobs=1, points_of=points_of)
    report(arguments.output)


if __name__ == "__main__":
    main()
