"""Would two runs with half of the evaluations each, which check each other, be better than one?

The two are pooled: the points of both, each run's weighted by its evidence (stacking), and 200 of them are chosen as
the default chooses its particles. They disagree if :func:`steinbox.compare` says so. The problems are the development
problems of ``generated.py``.

``python benchmarks/accuracy/restarts.py`` runs those that are not in ``benchmarks/results/restarts.csv`` yet, and
writes ``restarts.md``.
"""

from __future__ import annotations

import run  # first: it sets the number of threads

# isort: split
import argparse
import csv
from collections.abc import Iterator
from datetime import date

import numpy as np
import ours
from counting import Counted
from measures import NUM_POINTS, floor, reference
from problems import PROBLEMS

import steinbox as sb

RESULTS = run.RESULTS.with_name("restarts.csv")
COLUMNS = ("problem", "seed", "budget", "one", "one_warned", "two", "two_warned", "disagree")
WRONG = 2.0  # times the MMD of 200 exact draws
OTHER_SEED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=40, help="of development problems")
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    done = {(row["problem"], int(row["seed"]), int(row["budget"])) for row in read()}
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file)
        if file.tell() == 0:
            writer.writerow(COLUMNS)
        for seed in range(arguments.seeds):
            for task in ((f"generated{2 * k}", seed, arguments.budget) for k in range(arguments.number)):
                if task not in done:
                    writer.writerow(row := measure(*task))
                    file.flush()
                    print(*row, flush=True)
    text = "\n".join(report(read())) + "\n"
    print(text)
    RESULTS.with_suffix(".md").write_text(text)


def measure(name: str, seed: int, budget: int) -> tuple[object, ...]:
    """A row: errors over the floor, and who says that something may be wrong."""
    one = sample(name, budget, seed)
    two = [sample(name, budget // 2, seed), sample(name, budget // 2, seed + OTHER_SEED)]
    exact = reference(name)
    errors = [exact.mmd(points) / floor(name) for points in (one.particles, pooled(name, two))]
    warned = [bool(one.warnings), any(each.warnings for each in two)]
    disagree = not sb.compare(two).agrees
    return name, seed, budget, f"{errors[0]:.3f}", int(warned[0]), f"{errors[1]:.3f}", int(warned[1]), int(disagree)


def sample(name: str, budget: int, seed: int) -> sb.Result:
    return ours.sample(None, Counted(PROBLEMS[name], budget, seed), seed)


def pooled(name: str, results: list[sb.Result]) -> np.ndarray:
    """Particles chosen from the points of all runs."""
    evidence = np.array([each.log_evidence for each in results])
    shares = np.exp(evidence - evidence.max()) / np.exp(evidence - evidence.max()).sum()
    points = np.concatenate([each.pool for each in results])
    weights = np.concatenate([share * each.pool_weights for share, each in zip(shares, results, strict=True)])
    log_prob = PROBLEMS[name].log_prob(points)
    return points[sb.select(points, weights, NUM_POINTS, log_prob=log_prob)]


def read() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def report(rows: list[dict[str, str]]) -> Iterator[str]:
    """One run against two."""
    one, two = (np.array([float(row[key]) for row in rows]) for key in ("one", "two"))
    one_warned, two_warned, disagree = (
        np.array([row[key] == "1" for row in rows]) for key in ("one_warned", "two_warned", "disagree")
    )
    yield f"`python benchmarks/accuracy/restarts.py`, {date.today()}; steinbox {sb.__version__}, {len(rows)} runs."
    yield f"\nTwo over one: {np.exp(np.log(two / one).mean()):.2f} of the MMD, the geometric mean."
    yield "\n| | MMD / floor, median | wrong | wrong, silent | right, warned |\n|---|---|---|---|---|"
    yield line("one run", one, one_warned)
    yield line("two of half the length, their warnings", two, two_warned)
    yield line("the same, or they disagree", two, two_warned | disagree)
    yield line("the same, only if they disagree", two, disagree)


def line(title: str, errors: np.ndarray, warned: np.ndarray) -> str:
    wrong = errors > WRONG
    return (
        f"| {title} | {np.median(errors):.2f} | {wrong.sum()} | {(wrong & ~warned).sum()} | {(~wrong & warned).sum()} |"
    )


if __name__ == "__main__":
    main()
