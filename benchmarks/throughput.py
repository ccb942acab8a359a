r"""Two workers against one: seconds for the same evaluations, in steinbox, in emcee with a pool, and in a bare pool.

The targets burn processor time, as a simulator does, and do not sleep:

- "20 ms": every call takes 20 ms;
- "4 to 40 ms": by a hash of the point, evenly in the logarithm, 16 ms on average;
- "20 ms, 100 MB": the first one, with an array of 100 MB attached to the function.

A millisecond is one of the thread's own processor time, so that other programs on the machine lengthen a run but not
the work in it. A bare pool (``multiprocessing``, all points at once, in pieces of one) shows what the machine gives.

Start-up, with the end of the workers, is measured by the same call for two rounds of points that take no time. One
worker and two take turns; the numbers are medians over the repetitions, and so are the ratios within a repetition.
emcee sends the function with every piece of work (its start-up is therefore measured without data) and cannot send
closures; all get the same object, with its data.

Run ``pip install -e ".[parallel]" emcee``, then ``OPENBLAS_NUM_THREADS=1 python benchmarks/throughput.py``.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

import emcee
import numpy as np

import steinbox as sb

RESULTS = Path(__file__).parent / "results" / "throughput.md"
DIMENSION = 3
POINTS_AT_ONCE = 100  # particles, walkers
WORKERS = (1, 2)


@dataclass(frozen=True, eq=False)
class Target:
    """A standard Gaussian that takes its time, the same for the same point."""

    shortest: float
    longest: float
    data: np.ndarray = field(default_factory=lambda: np.zeros(1))

    def __call__(self, x: np.ndarray) -> float:
        start = time.thread_time()
        share = int.from_bytes(hashlib.blake2b(x.tobytes(), digest_size=4).digest()) / 2**32
        seconds = self.shortest * (self.longest / self.shortest) ** share if self.longest else 0.0
        while time.thread_time() - start < seconds:  # asking for the time is slow, and done rarely
            sum(range(10_000))
        return -0.5 * float(x @ x) + float(self.data[0])


def with_steinbox(target: Target, num_workers: int, num_rounds: int) -> None:
    num_evals = num_rounds * POINTS_AT_ONCE
    start = sb.Gaussian(np.zeros(DIMENSION), std=1.0)
    settings = {"method": sb.AnnealedGFSVGD(), "num_particles": POINTS_AT_ONCE, "max_evals": num_evals, "seed": 0}
    result = sb.sample(target, start, executor=num_workers, progress=False, **settings)
    assert result.num_evals == num_evals


def with_emcee(target: Target, num_workers: int, num_rounds: int) -> None:
    start = np.random.default_rng(0).standard_normal((POINTS_AT_ONCE, DIMENSION))
    with multiprocessing.Pool(num_workers) as pool:
        sampler = emcee.EnsembleSampler(POINTS_AT_ONCE, DIMENSION, target, pool=pool)
        sampler.run_mcmc(start, num_rounds - 1)  # the start is a round too


def with_bare_pool(target: Target, num_workers: int, num_rounds: int) -> None:
    points = np.random.default_rng(0).standard_normal((num_rounds * POINTS_AT_ONCE, DIMENSION))
    with multiprocessing.Pool(num_workers, initializer=_install, initargs=(target,)) as pool:
        pool.map(_call_installed, points, chunksize=1)


_installed: list[Target] = []


def _install(target: Target) -> None:
    _installed.append(target)


def _call_installed(x: np.ndarray) -> float:
    return _installed[-1](x)


@dataclass(frozen=True)
class Way:
    """A way to evaluate, and whether it sends the data at the start, or with every piece of work."""

    run: Callable[[Target, int, int], None]
    sends_data_at_start: bool


WAYS = {"steinbox": Way(with_steinbox, True), "emcee": Way(with_emcee, False), "bare pool": Way(with_bare_pool, True)}


def targets() -> dict[str, Target]:
    """By what the table calls them."""
    return {
        "20 ms": Target(0.02, 0.02),
        "4 to 40 ms": Target(0.004, 0.04),
        "20 ms, 100 MB": Target(0.02, 0.02, np.zeros(100_000_000 // 8) + 0.0),
    }


@dataclass(frozen=True)
class Timing:
    """Seconds of one repetition, by the number of workers: in all, and of the start-up."""

    total: dict[int, float]
    start_up: dict[int, float]

    def work(self, num_workers: int) -> float:
        """Without the start-up."""
        return self.total[num_workers] - self.start_up[num_workers]


def measure(way: Way, target: Target, num_rounds: int) -> Timing:
    """One repetition: one worker and two take turns."""
    start = replace(target if way.sends_data_at_start else Target(0.0, 0.0), shortest=0.0, longest=0.0)
    total, start_up = {}, {}
    for num_workers in WORKERS:
        start_up[num_workers] = _seconds(way.run, start, num_workers, 2)
        total[num_workers] = _seconds(way.run, target, num_workers, num_rounds)
    return Timing(total, start_up)


def _seconds(run: Callable[[Target, int, int], None], target: Target, num_workers: int, num_rounds: int) -> float:
    start = time.perf_counter()
    run(target, num_workers, num_rounds)
    return time.perf_counter() - start


def row(target: str, way: str, timings: list[Timing], light: list[Timing]) -> str:
    """A line of the table; ``light`` are the timings of the target without its data."""
    cells = [target, way]
    cells += [f"{median(timing.total[k] for timing in timings):.2f}" for k in WORKERS]
    cells.append(f"{median(timing.total[1] / timing.total[2] for timing in timings):.2f}")
    cells += [f"{median(timing.start_up[k] for timing in timings):.2f}" for k in WORKERS]
    cells.append(f"{median(timing.work(1) / timing.work(2) for timing in timings):.2f}")
    if timings is light:
        cells += ["", ""]
    else:
        pairs = list(zip(timings, light, strict=True))
        cells.append(f"{100 * (median(heavy.total[2] / without.total[2] for heavy, without in pairs) - 1):+.1f} %")
        cells.append(f"{100 * (median(heavy.work(2) / without.work(2) for heavy, without in pairs) - 1):+.1f} %")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run everything, print it and write it."""
    parser = argparse.ArgumentParser(description="Two workers against one.")
    parser.add_argument("--evals", type=int, default=800, help="evaluations of each run, in hundreds")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    num_rounds = max(2, arguments.evals // POINTS_AT_ONCE)
    lines = [
        f"`python benchmarks/throughput.py --evals {arguments.evals} --repetitions {arguments.repetitions}`, "
        f"{date.today()}; Python {platform.python_version()}, NumPy {np.__version__}, steinbox {version('steinbox')}, "
        f"emcee {version('emcee')}, {os.cpu_count()} cores, OPENBLAS_NUM_THREADS "
        f"{os.environ.get('OPENBLAS_NUM_THREADS', 'default')}, load at the start {os.getloadavg()[0]:.1f}; "
        f"{num_rounds * POINTS_AT_ONCE} evaluations.\n",
        "| target | library | seconds, 1 worker | 2 workers | 2 : 1 | start-up, 1 worker | 2 workers | 2 : 1 without "
        "start-up | price of 100 MB, 2 workers | without start-up |",
        f"|{'---|' * 10}",
    ]
    print("\n".join(lines), flush=True)
    for way in arguments.ways:
        timings: dict[str, list[Timing]] = {}
        for _ in range(arguments.repetitions):
            for name, target in targets().items():
                timings.setdefault(name, []).append(measure(WAYS[way], target, num_rounds))
        for name in timings:
            light = timings["20 ms"] if "MB" in name else timings[name]
            lines.append(row(name, way, timings[name], light))
            print(lines[-1], flush=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
