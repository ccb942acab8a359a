"""Whether coverage is right: the share of places that lead to modes not seen, as said and as it is.

On problems drawn at random that have several modes. A mode is not seen if the weighted points give it less than a
quarter of its share; a draw of the start leads to the mode that is densest there. Problems of even numbers from 200 on
were not looked at before.

Run ``python benchmarks/accuracy/coverage.py``; the table goes to ``benchmarks/results/coverage.md``, the rows to
``coverage.csv``, the picture to ``docs/images/coverage.png``.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import csv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from generator import Generated, MixtureOf, generate

import steinbox as sb

ROOT = Path(__file__).parent.parent
NUM_PLACES, MIN_SEEN = 4_000, 0.25


@dataclass(frozen=True)
class Row:
    """What one run said, and what is true."""

    number: int
    dimension: int
    num_modes: int
    num_unseen: int
    unseen: float
    upper: float
    true: float
    warned: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--last", type=int, default=398)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    numbers = list(range(arguments.first, arguments.last + 1, 2))
    with ProcessPoolExecutor(arguments.jobs) as executor:
        rows = [row for row in executor.map(measure, numbers) if row is not None]
    write(rows, ROOT / "results" / "coverage.csv")
    text = "\n".join(report(rows))
    print(text)
    (ROOT / "results" / "coverage.md").write_text(text + "\n")
    draw(rows).savefig(ROOT.parent / "docs" / "images" / "coverage.png", dpi=150)


def measure(number: int) -> Row | None:
    """One run with 20,000 evaluations; None if the problem has one mode, or there was no climb."""
    problem = generate(number)
    if not isinstance(problem.target, MixtureOf):
        return None
    start = sb.Gaussian(problem.start_mean, std=problem.start_std)
    result = sb.sample(
        problem.target.log_prob, start, vectorized=True, num_particles=200, max_evals=20_000, progress=False, seed=0
    )
    if result.coverage is None:
        return None
    shares = np.bincount(owners(problem, result.pool), result.pool_weights, minlength=len(problem.target.shares))
    is_unseen = shares < MIN_SEEN * problem.target.shares
    places = start.sample(NUM_PLACES, np.random.default_rng(5))
    true = float(is_unseen[owners(problem, places)].mean())
    coverage, dimension = result.coverage, problem.target.dimension
    counts = len(is_unseen), int(is_unseen.sum())
    return Row(number, dimension, *counts, coverage.unseen, coverage.upper, true, int(bool(result.warnings)))


def owners(problem: Generated, points: np.ndarray) -> np.ndarray:
    """The mode that is densest at each point."""
    assert isinstance(problem.target, MixtureOf)
    log_shares = np.log(problem.target.shares)
    densities = [each.log_prob(points) + share for each, share in zip(problem.target.targets, log_shares, strict=True)]
    return np.argmax(densities, axis=0)


def report(rows: list[Row]) -> Iterator[str]:
    """How often the bound is right, and what is said where modes are missing and where none is."""
    yield "`python benchmarks/accuracy/coverage.py`: problems with several modes, 20,000 evaluations.\n"
    yield "| runs | number | expected share, said (median) | true share (median) | below the bound | warned |"
    yield "|---|---|---|---|---|---|"
    for name, some in (
        ("all modes seen", [row for row in rows if row.num_unseen == 0]),
        ("modes missing", [row for row in rows if row.num_unseen > 0]),
    ):
        if some:
            said, true = (float(np.median([getattr(row, each) for row in some])) for each in ("unseen", "true"))
            right = sum(row.true <= row.upper for row in some)
            warned = sum(row.warned for row in some)
            yield f"| {name} | {len(some)} | {said:.4f} | {true:.4f} | {right} of {len(some)} | {warned} |"


def draw(rows: list[Row]) -> plt.Figure:
    """True shares over those that were said, with the bounds."""
    figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
    least = 1 / NUM_PLACES / 2
    for is_missing, color, label in ((False, "C0", "all modes seen"), (True, "C1", "modes missing")):
        some = [row for row in rows if (row.num_unseen > 0) == is_missing]
        said, upper = np.array([row.unseen for row in some]), np.array([row.upper for row in some])
        true = np.array([max(row.true, least) for row in some])
        axes.errorbar(
            said, true, xerr=[np.zeros(len(some)), upper - said], fmt="o", color=color, label=label, alpha=0.7
        )
    axes.plot([least, 1], [least, 1], color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="share of places that lead elsewhere, said (bar: to the bound)")
    axes.set_ylabel(f"true (lowest row: none of {NUM_PLACES:,})")
    axes.legend()
    return figure


def write(rows: list[Row], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


if __name__ == "__main__":
    run.warnings.simplefilter("ignore")
    main()
