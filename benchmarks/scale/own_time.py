r"""What steinbox itself takes for each evaluation: processor time, without workers to wait for.

The default, asynchronous, with 128 workers in virtual time and a Gaussian in 10 dimensions that costs nothing. Three
clocks: of the loop, which must keep the workers busy (giving out, collecting, keeping the book); of what is learned
beside it in a thread (fits, weights, proposals); and both together, which is what counts if there is one core for both.
128 workers with calls of 50 ms need 2,500 evaluations a second: .4 ms each.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/scale/own_time.py``; the table goes to
``benchmarks/results/scale_own_time.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from virtual import VirtualBackground, VirtualWorkers, lognormal, virtual_time

import steinbox as sb

RESULTS = Path(__file__).parents[1] / "results" / "scale_own_time.md"
DIMENSION, NUM_WORKERS, BUDGETS = 10, 128, (20_000, 100_000)


def log_prob(x: np.ndarray) -> float:
    z = (x - 1.0) / 0.7
    return -0.5 * float(z @ z)


class Stopwatch:
    """Processor time that is spent in some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **keywords: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*arguments, **keywords)
            finally:
                self.seconds += time.thread_time() - start

        return timed


def run(budget: int) -> tuple[float, float, int]:
    """Seconds of the loop and of learning, and evaluations."""
    harness, learning = Stopwatch(), Stopwatch()
    with (
        virtual_time(NUM_WORKERS, lognormal(0.05)),
        mock.patch.object(VirtualWorkers, "submit", harness.around(VirtualWorkers.submit)),
        mock.patch.object(VirtualWorkers, "collect", harness.around(VirtualWorkers.collect)),
        mock.patch.object(VirtualBackground, "submit", learning.around(VirtualBackground.submit)),
    ):
        start = time.thread_time()
        result = sb.sample(
            log_prob,
            sb.Gaussian(np.zeros(DIMENSION), std=3.0),
            method=sb.AdaptiveImportanceSampling(stop_early=False),
            max_evals=budget,
            executor=1,
            asynchronous=True,
            progress=False,
            seed=0,
        )
        total = time.thread_time() - start
    return total - harness.seconds - learning.seconds, learning.seconds, result.num_evals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [
        "`python benchmarks/scale/own_time.py`: processor time for each evaluation, "
        f"{NUM_WORKERS} workers, d = {DIMENSION}.\n",
        "| evaluations | loop | learning beside it | both | evaluations a second, loop | both |",
        f"|{'---|' * 6}",
    ]
    for budget in arguments.budgets:
        loop, learning, number = run(budget)
        both = loop + learning
        milliseconds = " | ".join(f"{1e3 * seconds / number:.3f} ms" for seconds in (loop, learning, both))
        lines.append(f"| {number:,} | {milliseconds} | {number / loop:,.0f} | {number / both:,.0f} |")
    print("\n".join(lines))
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
