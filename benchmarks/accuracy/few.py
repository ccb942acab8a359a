"""Sixty to four hundred evaluations: the default with a surrogate's search beside PyVBMC (Acerbi, 2018).

Generated problems with one mode and standard ones, in 2 to 8 dimensions: MMD over the floor, that of 200 exact
draws. PyVBMC's plausible box is the mean of the start ± one standard deviation, and it begins at a point drawn from the
box; of what it returns, 200 draws are judged, five times. It may use 200 evaluations, and stops by itself before.

The targets of Acerbi (2018) are in ``benchmarks/published/part_c.py``.

Rows go to ``benchmarks/results/few.csv``, and those that are there are not run again. PyVBMC is left out where it is
not installed. Run ``python benchmarks/accuracy/few.py``, with ``--methods pyvbmc`` for its rows.

References
----------
L. Acerbi (2018). Variational Bayesian Monte Carlo. *NeurIPS* 31.
"""

from __future__ import annotations

import run  # noqa: F401  # first: it sets the number of threads

# isort: split
import argparse
import csv
import importlib.util
import logging
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import numpy as np
from measures import NUM_POINTS, floor, reference
from problems import PROBLEMS
from report import write

import steinbox as sb

RESULTS = Path(__file__).parent.parent / "results"
NAMES = ("banana2", "generated10", "cubic_valley3", "generated30", "generated58", "dirichlet7", "student_t8")
BUDGETS = (60, 100, 200, 400)
VBMC_BUDGETS = (200,)  # it stops by itself before
FIRST_SEED = 100
NUM_SETS = 5  # of points, over which the error of PyVBMC's draws is averaged
FIELDS = ("target", "method", "budget", "seed", "evals", "error", "warnings", "seconds")
Row = dict[str, str]


SEARCH = sb.AdaptiveImportanceSampling(proposers=(sb.adaptive.SurrogateSearch(), *sb.adaptive.DEFAULT_PROPOSERS))

# -- runs --------------------------------------------------------------------------------------------------------------


def run_pyvbmc(log_prob: Callable, initial: sb.Gaussian, budget: int, seed: int) -> tuple[np.ndarray, int]:
    """Draws of what it returns, five times as many as are judged at once, and its evaluations."""
    from pyvbmc import VBMC

    logging.disable(logging.CRITICAL)
    center, width, count = np.asarray(initial.mean), np.sqrt(np.diag(initial.cov)), [0]

    def counted(x: np.ndarray) -> float:
        count[0] += 1
        return float(log_prob(np.atleast_2d(x))[0])

    infinite, low, high = np.full((1, len(center)), np.inf), (center - width)[None], (center + width)[None]
    start = np.random.default_rng(seed).uniform(low[0], high[0])[None]
    options = {"display": "off", "plot": False, "max_fun_evals": budget}
    posterior, _ = VBMC(counted, start, -infinite, infinite, low, high, options=options, seed=seed).optimize()
    return posterior.sample(NUM_SETS * NUM_POINTS)[0], count[0]


def outcome(name: str, method: str, budget: int, seed: int) -> Row:
    """One run: MMD over the floor."""
    target = PROBLEMS[name]
    begun, num_warnings = time.process_time(), 0
    if method == "pyvbmc":
        draws, evals = run_pyvbmc(target.log_prob, target.initial, budget, seed)
        error = np.mean([reference(name).mmd(draws[k::NUM_SETS]) / floor(name) for k in range(NUM_SETS)])
    else:
        settings = {
            "method": SEARCH,
            "num_particles": NUM_POINTS,
            "max_evals": budget,
            "vectorized": True,
            "progress": False,
        }
        result = sb.sample(target.log_prob, target.initial, seed=seed, **settings)
        evals, num_warnings = result.num_evals, len(result.warnings)
        error = reference(name).mmd(result.particles) / floor(name)
    seconds = time.process_time() - begun
    values = (name, method, budget, seed, evals, f"{error:.4f}", num_warnings, f"{seconds:.1f}")
    return dict(zip(FIELDS, map(str, values), strict=True))


def plan(methods: list[str], num_seeds: int) -> Iterator[tuple[str, str, int, int]]:
    for seed in range(FIRST_SEED, FIRST_SEED + num_seeds):
        for method in methods:
            for name in NAMES:
                for budget in BUDGETS if method == "default" else VBMC_BUDGETS:
                    yield name, method, budget, seed


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def run_missing(path: Path, methods: list[str], num_seeds: int) -> None:
    known = {tuple(row[field] for field in FIELDS[:4]) for row in read(path)}
    for case in plan(methods, num_seeds):
        if tuple(map(str, case)) not in known:
            row = outcome(*case)
            print(row, flush=True)
            is_new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if is_new:
                    writer.writeheader()
                writer.writerow(row)


# -- tables ------------------------------------------------------------------------------------------------------------


def find(rows: list[Row], name: str, method: str, budget: int) -> list[Row]:
    return [row for row in rows if (row["target"], row["method"], row["budget"]) == (name, method, str(budget))]


def mean_error(rows: list[Row]) -> str:
    """The geometric mean over seeds."""
    return f"{np.exp(np.mean([np.log(float(row['error'])) for row in rows])):.2f}" if rows else "–"


def lines(rows: list[Row]) -> Iterator[str]:
    yield "| problem | d | " + " | ".join(f"{budget:,}" for budget in BUDGETS) + " | PyVBMC | its evaluations |"
    yield "|---|---|" + "---|" * len(BUDGETS) + "---|---|"
    for name in NAMES:
        cells = [mean_error(find(rows, name, "default", budget)) for budget in BUDGETS]
        theirs = find(rows, name, "pyvbmc", VBMC_BUDGETS[-1])
        evals = ", ".join(row["evals"] for row in theirs) or "not run"
        yield f"| {name} | {PROBLEMS[name].dimension} | {' | '.join(cells)} | {mean_error(theirs)} | {evals} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=("default", "pyvbmc"), default=["default"])
    parser.add_argument("--output", type=Path, default=RESULTS / "few.csv")
    arguments = parser.parse_args()
    if "pyvbmc" in arguments.methods and importlib.util.find_spec("pyvbmc") is None:
        print("PyVBMC is left out: it is not installed (pip install pyvbmc)")
        arguments.methods.remove("pyvbmc")
    run_missing(arguments.output, arguments.methods, arguments.seeds)
    rows = read(arguments.output)
    text = [
        f"`python benchmarks/accuracy/few.py --seeds {arguments.seeds}`, {date.today()}; steinbox {sb.__version__}. "
        "MMD over that of 200 exact draws, by number of evaluations; geometric means over seeds.",
        "",
        *lines(rows),
    ]
    print("\n".join(text))
    write("few", text)


if __name__ == "__main__":
    main()
