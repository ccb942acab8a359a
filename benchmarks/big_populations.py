"""One Stein update of many particles: its time over the machine's own limit, and its memory.

The limit is the least arithmetic that float64 needs, at the best rates of this machine, measured in the same run: for
each of the n²/2 pairs 2d operations for the distance, one exponential, and 4(d + 1) operations for what the pair gives
to its two particles; at the rate of NumPy's product of two matrices of 256 × 256, and of ``np.exp`` of 16,384 numbers
in the cache. It moves nothing through memory, and no program of this kind reaches it. Update and limit take turns and
have the same number of threads; the best of all turns counts, since others may use the machine. "processor" is the same
ratio in processor time of all threads, which other work on the machine disturbs less.

Target N(0, I), whose score costs nothing; RBF kernel; the bandwidth is given, except in the last column, which says how
many times as long an update with ``Median()`` takes.

Run ``python benchmarks/big_populations.py``; it writes benchmarks/results/big_populations.md.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded: only our threads

import argparse
import platform
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from steinbox.numerics.bandwidth import Median
from steinbox.numerics.kernels import RBF
from steinbox.samplers.stein.direction import stein_direction

RESULTS = Path(__file__).parent / "results" / "big_populations.md"
DIMENSION = 25
SIZES = (200, 1_000, 2_000, 5_000, 10_000)
LARGEST = 100_000, 10
PRODUCT_SIDE = 256
EXPONENTIALS = 16_384


@dataclass
class Best:
    """The shortest times of something, by the clock and of the processor."""

    clock: float = np.inf
    processor: float = np.inf

    def time(self, work: Callable[[], object]) -> None:
        clock, processor = time.perf_counter(), time.process_time()
        work()
        self.clock = min(self.clock, time.perf_counter() - clock)
        self.processor = min(self.processor, time.process_time() - processor)


def use_threads(number: int) -> None:
    """BLAS has read these variables already; steinbox reads them at every call."""
    os.environ.update(OPENBLAS_NUM_THREADS=str(number), OMP_NUM_THREADS=str(number))


def update(n: int, d: int, bandwidth: float | None = None) -> Callable[[], np.ndarray]:
    """One Stein direction of n particles; with the median's bandwidth if none is given."""
    x, weights = np.random.default_rng(n).normal(size=(n, d)), np.full(n, 1 / n)
    return lambda: stein_direction(x, -x, weights, RBF(), bandwidth or Median()(x))


def limit(n: int, d: int, threads: ThreadPoolExecutor, num_threads: int) -> Callable[[], object]:
    """The arithmetic of one update at the best rates: nothing but large products, and exponentials in the cache."""
    operations = n**2 / 2 * (2 * d + 4 * (d + 1))
    num_products = operations / (2 * PRODUCT_SIDE**3) / num_threads
    num_exponentials = n**2 / 2 / EXPONENTIALS / num_threads
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(2, PRODUCT_SIDE, PRODUCT_SIDE))

    def work(_: int) -> None:
        numbers, product = -rng.random(EXPONENTIALS), np.empty((PRODUCT_SIDE, PRODUCT_SIDE))
        exponentials = np.empty(EXPONENTIALS)
        for _ in range(round(num_products)):
            np.matmul(*matrices, out=product)
        for _ in range(round(num_exponentials)):
            np.exp(numbers, out=exponentials)

    if num_threads == 1:
        return lambda: work(0)
    return lambda: list(threads.map(work, range(num_threads)))


def time_against_limit(n: int, num_threads: int, seconds: float) -> str:
    """One row of the table: update, limit and update with a median in turns, for so long."""
    use_threads(num_threads)
    own, least, with_median = Best(), Best(), Best()
    with ThreadPoolExecutor(num_threads) as threads:
        works = (
            (own, update(n, DIMENSION, 48.0)),
            (least, limit(n, DIMENSION, threads, num_threads)),
            (with_median, update(n, DIMENSION)),
        )
        end = time.perf_counter() + seconds
        rounds = 0
        while rounds < 3 or time.perf_counter() < end:
            for best, work in works:
                best.time(work)
            rounds += 1
    cells = (
        f"{n:,}",
        f"{num_threads}",
        f"{1000 * own.clock:.2f}",
        f"{1000 * least.clock:.2f}" if n >= 1000 else "",  # a few products only
        f"{own.clock / least.clock:.2f}" if n >= 1000 else "",
        f"{own.processor / least.processor:.2f}" if n >= 1000 else "",
        f"{with_median.clock / own.clock:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def memory(n: int, d: int, num_threads: int) -> str:
    """The most that all arrays of one update, with its bandwidth, held at once beyond particles and scores."""
    use_threads(num_threads)
    step = update(n, d)
    tracemalloc.start()
    start = time.perf_counter()
    step()
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"| {n:,} | {d} | {num_threads} | {peak / 1e6:.0f} | {seconds:.1f} |"


def main() -> None:
    """Time, measure the memory, print and write."""
    parser = argparse.ArgumentParser(description="Stein updates of many particles against the machine's limit.")
    parser.add_argument("--seconds", type=float, default=20, help="for each row")
    parser.add_argument("--threads", type=int, nargs="*", default=sorted({1, os.cpu_count() or 1}))
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/big_populations.py --seconds {arguments.seconds:g}`, {date.today()}; Python"
        f" {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores, load at the start"
        f" {os.getloadavg()[0]:.1f}.",
        "",
        f"| n (d = {DIMENSION}) | threads | ms | limit, ms | / limit | / limit, processor | with median |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for n in SIZES:
        for num_threads in arguments.threads:
            lines.append(time_against_limit(n, num_threads, arguments.seconds))
            print(lines[-1], flush=True)
    tables = ["", "| n | d | threads | extra MB | seconds, traced |", "| ---: | ---: | ---: | ---: | ---: |"]
    tables += [memory(*LARGEST, num_threads) for num_threads in arguments.threads]
    print("\n".join(tables), flush=True)
    arguments.output.write_text("\n".join([*lines, *tables]) + "\n")


if __name__ == "__main__":
    main()
