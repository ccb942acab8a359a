r"""How busy workers are, with batches and without: work / (workers × wall), in virtual time.

The target is a Gaussian in 10 dimensions, N(1, 0.7² I), from N(0, 9 I), by the default method. Calls take 50 ms on
average with a lognormal spread (σ = 1), or 50 ms, and one in fifty a hundred times as long. What steinbox itself does
takes the processor time that it really takes here, fits beside the loop. For 1,000 workers all times are twenty times
as long, since nobody has them for calls of 50 ms; they have a budget of 100,000 evaluations and no early stop, all
others the defaults.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/efficiency.py``; the table goes to
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


def log_prob(x: np.ndarray) -> float:
    z = (x - MEAN) / STD
    return -0.5 * float(z @ z)


def run(num_workers: int, seconds: Seconds, *, asynchronous: bool) -> tuple[VirtualRun, sb.Result]:
    is_many = num_workers >= MANY
    factor = MANY_FACTOR if is_many else 1.0
    start = sb.Gaussian(np.zeros(DIMENSION), std=3.0)
    with virtual_time(num_workers, lambda *call: factor * seconds(*call), is_charged=True) as virtual:
        result = sb.sample(
            log_prob,
            start,
            method=sb.AdaptiveImportanceSampling(stop_early=not is_many),
            max_evals=MANY_EVALS if is_many else None,
            executor=1,
            asynchronous=asynchronous,
            progress=False,
            seed=0,
        )
    return virtual, result


def efficiency_rows(name: str, workers: list[int]) -> list[str]:
    rows = []
    for asynchronous in (False, True):
        cells = [name, "asynchronous" if asynchronous else "batches"]
        for num_workers in workers:
            virtual, result = run(num_workers, TIMES[name], asynchronous=asynchronous)
            cells.append(f"{virtual.efficiency:.2f} ({virtual.clock.now:.0f} s, {result.num_evals:,})")
        rows.append(f"| {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", nargs="+", type=int, default=[8, 32, 128, MANY])
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
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
