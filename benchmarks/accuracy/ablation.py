"""What each part of the default sampler is worth: it runs with one part left out or changed at a time.

Every variant is written with what users have: ``AdaptiveImportanceSampling(proposers=…, family=…, tuning=…)``, or
another choice of points from the same result.

Rows go to ``benchmarks/results/ablation.csv``; those that are there already are not run again. Each table in
``ablation.md`` has a line per variant: the geometric mean over the problems of the ratio of its MMD (mean over the
seeds) to that of the sampler as it is, how many problems it makes worse or better by more than a quarter, the worst
of them, the median spread of log p (its standard deviation over that of exact draws), and how many runs came out
differently: a part that was never used leaves a run as it was. The line "other seeds" says what is chance.

Run ``python benchmarks/accuracy/ablation.py``; ``--problems``, ``--budgets`` and ``--variants`` add rows for others.
``--generated 40`` has the first development problems of ``generated.py`` in place of the fixed ones, and files of
their own, ``ablation_generated.csv`` and ``.md``.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import ours
from counting import Counted
from measures import NUM_POINTS
from problems import PROBLEMS
from report import short, write

import steinbox as sb
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.samplers.adaptive import (
    DEFAULT_PROPOSERS,
    Climbs,
    Draws,
    Proposer,
    QuadraticFit,
    SurrogateRefinement,
    ThinTail,
    Tuning,
)

RESULTS = run.RESULTS.with_name("ablation.csv")
SHIPPED, OTHER_SEEDS = "as shipped", "other seeds"
OTHER_SEEDS_FROM = 2  # with two seeds: seeds 2 and 3


# -- the variants ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A method, and how the points are taken from its result."""

    method: sb.AdaptiveImportanceSampling | None = None
    choose: Callable[[sb.Result], np.ndarray] = lambda result: result.particles


def without(proposer: type[Proposer]) -> Variant:
    kept = [each for each in DEFAULT_PROPOSERS if not isinstance(each, proposer)]
    return Variant(sb.AdaptiveImportanceSampling(proposers=kept))


def tuned(**settings: object) -> Variant:
    return Variant(sb.AdaptiveImportanceSampling(tuning=Tuning(**settings)))


def of_family(**settings: object) -> Variant:
    return Variant(sb.AdaptiveImportanceSampling(family=CurvedMixtures(**settings)))


class WideDraws(Proposer):
    """A tenth or more of every shared batch from the fitted density's mean and four times its covariance."""

    name = "wide"

    def propose(self, view, memory, rng):
        if view.fit is None:
            return None, memory
        draws = view.fit.density.sample(1000, rng)
        wide = sb.Gaussian(draws.mean(axis=0), cov=4 * np.atleast_2d(np.cov(draws.T)))
        return Draws(sb.GaussianMixture([wide])), memory


def drawn(result: sb.Result) -> np.ndarray:
    rows = np.random.default_rng(0).choice(len(result.pool), size=NUM_POINTS, p=result.pool_weights)
    return result.pool[rows]


def selected_by_position(result: sb.Result) -> np.ndarray:
    return result.pool[sb.select(result.pool, result.pool_weights, NUM_POINTS)]


VARIANTS: dict[str, Variant] = {
    SHIPPED: Variant(),
    OTHER_SEEDS: Variant(),
    "no climbs": without(Climbs),
    "no search for further modes": tuned(min_excess=1e9, scan_fraction=0.0),
    "no scan for places to climb from": tuned(scan_fraction=0.0),
    "no quadratic fit": without(QuadraticFit),
    "no refinement by a surrogate": without(SurrogateRefinement),
    "one component": of_family(max_components=1, own_maps=False),
    "no curved maps": of_family(curved=False, rotated=False, own_maps=False),
    "no rotated maps": of_family(rotated=False),
    "one map for all components": of_family(own_maps=False),
    "no shells": of_family(shells=False),
    "no hierarchies": of_family(hierarchical=False),
    "no draws along thin tails": without(ThinTail),
    "nothing is Gaussianized": of_family(gaussianized=False),
    "equal shares": tuned(min_share=0.5),
    "batches halved": tuned(batch_fraction=1 / 100, min_batch=100, max_batch=1000),
    "batches doubled": tuned(batch_fraction=1 / 25, min_batch=400, max_batch=4000),
    "climbs have a third of the budget": tuned(max_climb_fraction=0.33, arrival_fraction=0.33),
    "particles drawn, not selected": Variant(choose=drawn),
    "selected without the log p kernel": Variant(choose=selected_by_position),
    "added: wide draws": Variant(sb.AdaptiveImportanceSampling(proposers=(*DEFAULT_PROPOSERS, WideDraws()))),
}


def points_of(task: run.Task, log_prob: Counted) -> tuple[np.ndarray, int | str]:
    """The points of one variant, and the number of warnings."""
    variant = VARIANTS[task.method]
    seed = task.seed + (OTHER_SEEDS_FROM if task.method == OTHER_SEEDS else 0)
    result = ours.sample(variant.method, log_prob, seed)
    return variant.choose(result), len(result.warnings)


# -- the tables --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """MMD of one run, and the standard deviation of log p over that of exact draws."""

    mmd: float
    spread: float


Found = dict[tuple[str, str, int, int], Outcome]


def read(path: Path) -> Found:
    """The outcomes by problem, variant, budget and seed; runs that failed have none."""
    with path.open(newline="") as file:
        return {
            (row["problem"], row["method"], int(row["budget"]), int(row["seed"])): Outcome(
                float(row["mmd"]), float(row["log_prob_spread"])
            )
            for row in csv.DictReader(file)
            if not row["error"]
        }


def table(found: Found, budget: int) -> list[str]:
    """One line per variant."""
    lines = [
        f"With {budget:,} evaluations:",
        "",
        "| variant | problems | MMD, ratio | worse | better | the worst | spread of log p | changed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for variant in VARIANTS:
        pairs: dict[str, list[tuple[Outcome, Outcome]]] = {}
        for (name, method, size, seed), outcome in found.items():
            if (method, size) == (variant, budget) and (name, SHIPPED, budget, seed) in found:
                pairs.setdefault(name, []).append((outcome, found[name, SHIPPED, budget, seed]))
        if pairs:
            lines.append(line(variant, pairs))
    return lines


def line(variant: str, pairs: dict[str, list[tuple[Outcome, Outcome]]]) -> str:
    means = {name: np.mean([(new.mmd, old.mmd) for new, old in each], axis=0) for name, each in pairs.items()}
    runs = [pair for each in pairs.values() for pair in each]
    spread = f"{np.median([new.spread for new, _ in runs]):.2f}"
    if variant == SHIPPED:
        middle = short(float(np.exp(np.mean([np.log(new) for new, _ in means.values()]))))
        return f"| {variant} | {len(means)} | (MMD {middle}) |  |  |  | {spread} | {len(runs)} runs |"
    ratios = {name: new / old for name, (new, old) in means.items()}
    worst = sorted(ratios, key=lambda name: -ratios[name])[:3]
    cells = [
        variant,
        str(len(ratios)),
        f"{np.exp(np.mean(np.log(list(ratios.values())))):.2f}",
        str(sum(ratio > 1.25 for ratio in ratios.values())),
        str(sum(ratio < 0.8 for ratio in ratios.values())),
        ", ".join(f"{name} {ratios[name]:.1f}" for name in worst if ratios[name] > 1.25),
        spread,
        f"{sum(new != old for new, old in runs)} of {len(runs)}",
    ]
    return f"| {' | '.join(cells)} |"


def write_tables(path: Path, options: str = "") -> None:
    found = read(path)
    seeds = 1 + max(key[3] for key in found)
    settings = f"steinbox {sb.__version__}, 200 points, {seeds} seed{'s' if seeds > 1 else ''}"
    lines = [f"`python benchmarks/accuracy/ablation.py{options}`, {date.today()}; {settings}."]
    for budget in sorted({key[2] for key in found}):
        lines += ["", *table(found, budget)]
    write(path.stem, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="PROBLEM")
    parser.add_argument("--generated", type=int, help="development problems, in place of the fixed ones")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="VARIANT")
    parser.add_argument("--budgets", nargs="+", type=int, default=[5_000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a run may take")
    arguments = parser.parse_args()
    problems, output, options = arguments.problems, RESULTS, ""
    if arguments.generated:
        options = f" --generated {arguments.generated}"
        problems = [f"generated{2 * k}" for k in range(arguments.generated)]
        output = RESULTS.with_stem("ablation_generated")
    tasks = [
        run.Task(problem, variant, budget, seed)
        for budget in arguments.budgets
        for seed in range(arguments.seeds)
        for variant in arguments.variants
        for problem in problems
    ]
    run.run_all(tasks, run.Journal(output), arguments.limit, arguments.jobs, points_of)
    write_tables(output, options)


if __name__ == "__main__":
    main()
