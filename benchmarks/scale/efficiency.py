r"""How busy workers are, with batches and without: work / (workers × wall), in virtual time.

The target is a Gaussian in 10 dimensions, N(1, 0.7² I), from N(0, 9 I), by the default method. Calls take 50 ms on
average with a lognormal spread (σ = 1), or 50 ms, and one in fifty a hundred times as long. What steinbox itself does
takes the processor time that it really takes here, fits beside the loop. For 1,000 workers all times are twenty times
as long, since nobody has them for calls of 50 ms; they have a budget of 100,000 evaluations and no early stop, all
others the defaults.

The second table: the error of the mean (root mean square over coordinates and seeds, in standard deviations of the
target) at the same wall clock, with 32 workers and no early stop.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/efficiency.py``; the tables go to
``benchmarks/results/scale_efficiency.md``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from virtual import TIMES, Seconds, VirtualRun, virtual_time

import steinbox as sb

RESULTS = Path(__file__).parents[1] / "results" / "scale_efficiency.md"
MEAN, STD, DIMENSION = 1.0, 0.7, 10
MANY, MANY_EVALS, MANY_FACTOR = 1_000, 100_000, 20.0
WALLS = {"lognormal": (6.0, 15.0), "stragglers": (20.0, 45.0)}  # seconds


def log_prob(x: np.ndarray) -> float:
    z = (x - MEAN) / STD
    return -0.5 * float(z @ z)


def run(
    num_workers: int, seconds: Seconds, seed: int, *, asynchronous: bool, wall: float = np.inf
) -> tuple[VirtualRun, sb.Result]:
    """One run, which ends with the iteration after ``wall`` seconds."""
    goes_on, factor = num_workers >= MANY or wall < np.inf, MANY_FACTOR if num_workers >= MANY else 1.0
    start = sb.Gaussian(np.zeros(DIMENSION), std=3.0)
    with virtual_time(num_workers, lambda *call: factor * seconds(*call), is_charged=True) as virtual:
        result = sb.sample(
            log_prob,
            start,
            method=sb.AdaptiveImportanceSampling(stop_early=not goes_on),
            max_evals=MANY_EVALS if num_workers >= MANY else None,
            executor=1,
            asynchronous=asynchronous,
            callback=lambda iteration: virtual.clock.now > wall,
            progress=False,
            seed=seed,
        )
    return virtual, result


def efficiency_rows(name: str, workers: list[int]) -> list[str]:
    rows = []
    for asynchronous in (False, True):
        cells = [name, "asynchronous" if asynchronous else "batches"]
        for num_workers in workers:
            virtual, result = run(num_workers, TIMES[name], 0, asynchronous=asynchronous)
            cells.append(f"{virtual.efficiency:.2f} ({virtual.clock.now:.0f} s, {result.num_evals:,})")
        rows.append(f"| {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return rows


def error_rows(name: str, seeds: int) -> list[str]:
    rows = []
    for wall in WALLS[name]:
        errors = {}
        for asynchronous in (False, True):
            results = [run(32, TIMES[name], seed, asynchronous=asynchronous, wall=wall)[1] for seed in range(seeds)]
            errors[asynchronous] = float(np.sqrt(np.mean([(result.mean - MEAN) ** 2 for result in results]))) / STD
        ratio = errors[True] / errors[False]
        rows.append(f"| {name} | {wall:g} | {errors[False]:.4f} | {errors[True]:.4f} | {ratio:.2f} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", nargs="+", type=int, default=[8, 32, 128, MANY])
    parser.add_argument("--seeds", type=int, default=2, help="of the errors")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [
        "`python benchmarks/scale/efficiency.py`: work / (workers × wall); in brackets wall clock and evaluations.\n",
        f"| times | mode | {' | '.join(f'{number:,} workers' for number in arguments.workers)} |",
        f"|{'---|' * (2 + len(arguments.workers))}",
    ]
    print("\n".join(lines), flush=True)
    for name in TIMES:
        lines += efficiency_rows(name, arguments.workers)
    more = ["", "| times | wall, seconds | error, batches | asynchronous | ratio |", f"|{'---|' * 5}"]
    print("\n".join(more), flush=True)
    lines += more
    for name in TIMES:
        lines += error_rows(name, arguments.seeds)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
