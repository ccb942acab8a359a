"""What each part of the default sampler is worth: it runs with one part exchanged at a time, from outside.

Rows go to ``benchmarks/results/ablation.csv``; those that are there already are not run again. The tables in
``ablation.md`` have the MMD of the sampler as it is in the first line, below it the ratio of each variant's to that,
both as means over the seeds. The last line of each table says how far ratios are from one by chance: there the sampler
as it is has other seeds. The spread of log p, its standard deviation over that of exact draws, is the median of all
runs. ``changed`` counts the runs that came out differently from those in the first line: a part that was never used
leaves a run as it was.

Run ``python benchmarks/accuracy/ablation.py``; ``--problems``, ``--budgets`` and ``--variants`` add rows for others.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import csv
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from problems import PROBLEMS
from report import short, write
from scipy.stats import chi2

import steinbox as sb
from steinbox.densities.fitting import choice
from steinbox.densities.initial import Initial
from steinbox.densities.mixture import Mixture
from steinbox.evaluation import Evaluation
from steinbox.numerics import herding
from steinbox.numerics.optimizers import Adam, CosineDecay
from steinbox.numerics.weights import systematic_resample, temper
from steinbox.samplers.adaptive import answer, polish, sampler, search
from steinbox.samplers.adaptive.state import AdaptiveState, Batch, Polish
from steinbox.samplers.base import Sample
from steinbox.surrogates import Interpolant
from steinbox.surrogates.interpolant import InterpolantSurrogate

RESULTS = run.RESULTS.with_name("ablation.csv")
SHIPPED, OTHER_SEEDS = "as shipped", "as shipped, other seeds"
Exchange = Callable[[], AbstractContextManager[Any]]


def exchanged(owner: object, name: str, part: object) -> Exchange:
    """The attribute that the sampler uses, replaced; it must be there."""
    return lambda: patch.object(owner, name, part)


def times_batch(factor: float) -> Exchange:
    original = sb.AdaptiveImportanceSampling._batch_size
    return exchanged(
        sb.AdaptiveImportanceSampling, "_batch_size", lambda self, *sizes: max(20, int(factor * original(self, *sizes)))
    )


def times_wanted(factor: float) -> Exchange:
    """Tempered to an effective sample size so many times as large."""
    return exchanged(
        sampler,
        "temper",
        lambda log_weights, wanted: temper(log_weights, min(factor * wanted, 0.9 * np.isfinite(log_weights).sum())),
    )


def at_random(points: np.ndarray, weights: np.ndarray, num_points: int, **_: object) -> np.ndarray:
    return np.random.default_rng(0).choice(len(points), size=num_points, p=weights)


def by_black_box_weights(
    points: np.ndarray, weights: np.ndarray, num_points: int, *, log_prob: np.ndarray
) -> np.ndarray:
    """Selected from a thousand of the pool's points, with weights that minimise their Stein discrepancy."""
    rows = np.unique(systematic_resample(weights, 1000, np.random.default_rng(0)))
    best = sb.black_box_weights(points[rows], log_prob[rows]).weights
    return rows[sb.select(points[rows], best, num_points, log_prob=log_prob[rows])]


def with_control_variates(state: AdaptiveState, initial: Initial) -> Sample:
    """The answer, for weights changed as little as makes the fitted mixture's Stein identities hold in the pool.

    They are those of the fields e_k and x_k e_k: times the ratio of mixture and target, which is cut off, they have
    mean zero under the target, and need no gradient of it.
    """

    def select(points: np.ndarray, weights: np.ndarray, num_points: int, *, log_prob: np.ndarray) -> np.ndarray:
        density = state.fitted.density
        spread = np.sqrt(weights @ (points - weights @ points) ** 2)
        z, score = (points - weights @ points) / spread, density.score(points) * spread
        ratio = np.exp(np.minimum(density.log_prob(points) - log_prob + state.log_evidence, np.log(10)))
        zero = ratio[:, None] * np.column_stack([score, 1 + z * score])
        gram = (zero * weights[:, None]).T @ zero
        slopes = np.linalg.solve(gram + 1e-6 * np.trace(gram) * np.eye(len(gram)), weights @ zero)
        return sb.select(points, weights * np.maximum(1 - zero @ slopes, 0), num_points, log_prob=log_prob)

    with nullcontext() if state.fitted is None else patch.object(answer, "select", select):
        return answer.answer(state, initial)


def widened(scales: np.ndarray | list[float], shares: np.ndarray | list[float]) -> Exchange:
    """Each component drawn from is a mixture of itself at several scales of its covariance."""
    original = sb.AdaptiveImportanceSampling._proposals

    def proposals(self: sb.AdaptiveImportanceSampling, state: AdaptiveState) -> tuple[tuple[Any, ...], str]:
        (density, *others), decision = original(self, state)
        copies = [density.scale_components([np.sqrt(scale)]) for scale in scales]
        return (Mixture(copies, shares), *others), decision

    return exchanged(sb.AdaptiveImportanceSampling, "_proposals", proposals)


def weighed_without_polish() -> AbstractContextManager[Any]:
    """What the polish chose is the answer, or was paid for in vain."""
    original = sb.AdaptiveImportanceSampling._archived

    def archived(
        self: sb.AdaptiveImportanceSampling, state: AdaptiveState, points: np.ndarray, evaluation: Evaluation
    ) -> AdaptiveState:
        return state if state.polish is not None else original(self, state, points, evaluation)

    return patch.object(sb.AdaptiveImportanceSampling, "_archived", archived)


@dataclass(frozen=True, eq=False)
class Interpolated:
    """The density of an interpolant, of the archive's evidence."""

    surrogate: InterpolantSurrogate
    log_evidence: float

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        return self.surrogate.log_prob(x) - self.log_evidence


def moved_by_stein(state: AdaptiveState, initial: Initial, rng: np.random.Generator) -> AdaptiveState | None:
    """Particles of the archive, moved by Stein's force on an interpolant of its log-densities, and then evaluated."""
    rows = polish._known_best(state)
    if len(rows) < 40:
        return None
    surrogate = Interpolant().build(state.ledger.points[rows], state.ledger.log_prob[rows], len(rows))
    steps = sb.SVGD(num_iterations=50, optimizer=Adam(0.03, memory=0.99, decay=CosineDecay(start=0.0)))
    particles = answer.answer(state, initial).particles
    jitter = 1e-6 * particles.std(axis=0) * rng.standard_normal(particles.shape)
    problem = sb.Problem(initial, particles + jitter, 100 * len(particles))
    planned = steps.plan(problem)
    moving = planned.start(problem, rng)
    while not planned.is_finished(moving):
        x = planned.ask(moving, rng)
        value, score = surrogate.log_prob_and_score(x)
        moving, _ = planned.tell(moving, x, Evaluation(value, np.zeros(len(x), dtype=bool), score), rng)
    x = moving.particles
    if not np.isfinite(x).all():
        return None
    batch = Batch("polish", x, (Interpolated(surrogate, state.log_evidence),), (len(x),))
    return replace(state, polish=Polish(x, surrogate.log_prob(x), is_good=False), next=batch)


VARIANTS: dict[str, Exchange] = {
    SHIPPED: nullcontext,
    "independent instead of quasi-random draws": exchanged(
        sb.GaussianMixture, "quasi_random", sb.GaussianMixture.sample
    ),
    "straight maps only": exchanged(choice, "_MOST_CURVED", 0),
    "curved along the given axes only": exchanged(choice, "fit_rotated_map", lambda *_, **__: None),
    "one map for all components": exchanged(choice, "_MOST_CURVES", 0),
    "one component only": exchanged(choice, "_MAX_COMPONENTS", 1),
    "no shells": exchanged(choice, "_THICK", np.inf),
    "no quadratic jump": exchanged(sampler, "quadratic_proposal", lambda *_: None),
    "no search for missed mass": exchanged(sampler, "is_searched_out", lambda _: True),
    "no scan for spikes": exchanged(search, "_NUM_NARROW", 0),
    "no chains": exchanged(sampler, "ought_to_walk", lambda _: False),
    "no polish": exchanged(sampler, "could_be_polished", lambda _: False),
    "polished or not, never weighed with the rest": weighed_without_polish,
    "polished by Stein's force": exchanged(sampler, "begin_polish", moved_by_stein),
    "no Pareto smoothing": exchanged(answer, "pareto_smoothed", lambda log_weights: (log_weights, np.nan)),
    "particles drawn, not selected": exchanged(answer, "select", at_random),
    "selected without the log p kernel": exchanged(herding, "_LOG_PROB_SHARE", 0.0),
    "batches halved": times_batch(0.5),
    "batches doubled": times_batch(2.0),
    "tempered to half the size": times_wanted(0.5),
    "tempered to twice the size": times_wanted(2.0),
    "search from 2.5 nats": exchanged(search, "_SURPRISE", 2.5),
    "search from 10 nats": exchanged(search, "_SURPRISE", 10.0),
    "added: black-box weights of 1,000 points": exchanged(answer, "select", by_black_box_weights),
    "added: Stein control variates": exchanged(sampler, "answer", with_control_variates),
    "added: a tenth of the draws twice as wide": widened([1.0, 4.0], [0.9, 0.1]),
    "added: Student-t(5) components": widened(5 / chi2.ppf([5 / 6, 1 / 2, 1 / 6], 5), np.full(3, 1 / 3)),
    OTHER_SEEDS: nullcontext,
}


def done(task: run.Task) -> run.Row:
    """The run of one variant."""
    seed = task.seed + (100 if task.method == OTHER_SEEDS else 0)
    with VARIANTS[task.method](), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return replace(run.done(replace(task, method="default", seed=seed)), method=task.method, seed=task.seed)


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


def table(found: Found, group: str, budget: int) -> list[str]:
    """One line per variant."""
    problems = [name for name, each in PROBLEMS.items() if each.group == group and (name, SHIPPED, budget, 0) in found]
    seeds = sorted({key[3] for key in found if key[0] in problems and key[2] == budget})
    lines = [
        f"Group “{group}”, {budget:,} evaluations, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}:",
        "",
        f"| variant | {' | '.join(problems)} | geometric mean | spread of log p | changed |",
        f"|---{'|---' * (len(problems) + 3)}|",
    ]
    for variant in VARIANTS:
        pairs = [
            [
                (found[name, variant, budget, seed], found[name, SHIPPED, budget, seed])
                for seed in seeds
                if (name, variant, budget, seed) in found and (name, SHIPPED, budget, seed) in found
            ]
            for name in problems
        ]
        if any(pairs):
            lines.append(line(variant, pairs))
    return lines


def line(variant: str, pairs: list[list[tuple[Outcome, Outcome]]]) -> str:
    """MMD or ratios to the first line, their geometric mean, the median spread, and how many runs changed."""
    means = np.array(
        [np.mean([(new.mmd, old.mmd) for new, old in each], axis=0) if each else (np.nan, np.nan) for each in pairs]
    )
    runs = [pair for each in pairs for pair in each]
    spread = f"{np.median([new.spread for new, _ in runs]):.2f}"
    if variant == SHIPPED:
        middle = short(float(np.exp(np.log(means[:, 0]).mean())))
        return f"| {variant} | {' | '.join(map(short, means[:, 0]))} | {middle} | {spread} |  |"
    ratios = means[:, 0] / means[:, 1]
    texts = ("–" if np.isnan(ratio) else f"{ratio:.2f}" for ratio in ratios)
    changed = f"{sum(new != old for new, old in runs)} of {len(runs)}"
    return f"| {variant} | {' | '.join(texts)} | {np.exp(np.nanmean(np.log(ratios))):.2f} | {spread} | {changed} |"


def write_tables(path: Path) -> None:
    found = read(path)
    kinds = Counter((PROBLEMS[name].group, budget) for name, _, budget, _ in found)  # the largest table comes first
    lines = [f"`python benchmarks/accuracy/ablation.py`, {date.today()}; steinbox {sb.__version__}, MMD, 200 points."]
    for (group, budget), _ in kinds.most_common():
        lines += ["", *table(found, group, budget)]
    write("ablation", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, metavar="PROBLEM", help="those of the group tuning")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="VARIANT")
    parser.add_argument("--budgets", nargs="+", type=int, default=[5_000, 20_000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    journal = run.Journal(arguments.output)
    finished = journal.tasks()
    problems = arguments.problems or [name for name, each in PROBLEMS.items() if each.group == "tuning"]
    for budget in arguments.budgets:
        for seed in range(arguments.seeds):
            for variant in arguments.variants:
                for problem in problems:
                    task = run.Task(problem, variant, budget, seed)
                    if task not in finished:
                        journal.append(done(task))
    write_tables(arguments.output)


if __name__ == "__main__":
    main()
