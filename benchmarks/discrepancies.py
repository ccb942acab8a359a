r"""Time and memory of the discrepancies at n = 1,000; 10,000; 50,000 in ten dimensions, and thinning against a peer.

Every discrepancy runs in a process of its own, whose peak of resident memory is reported: interpreter, NumPy, SciPy and
the points are in it. The target is N(0, I), the points are drawn from N(0, 1.2 I). ``mmd`` compares with a reference of
the same n; ``gf_ksd`` is given with a Gaussian surrogate, and with the default, which is fitted to the points.

``black_box_weights`` is cubic in n and takes part at 1,000 only; its value is the duality gap.

Thinning takes m = 100 of n = 10,000 points, interleaved with ``stein_thinning.thin_gf`` on the same points, values,
surrogate and kernel; both must choose the same points.

Run ``pip install -e . stein_thinning``, then ``python benchmarks/discrepancies.py``.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np

import steinbox as sb

RESULTS = Path(__file__).parent / "results" / "discrepancies.md"
SIZES = (1_000, 10_000, 50_000)
DIMENSION = 10
TARGET = sb.Gaussian(np.zeros(DIMENSION), std=1.0)
SURROGATE = sb.Gaussian(np.zeros(DIMENSION), std=1.1)


def points(n: int, seed: int = 0) -> np.ndarray:
    return np.sqrt(1.2) * TARGET.sample(n, np.random.default_rng(seed))


SMALL_TASKS = {"black_box_weights": lambda x: sb.black_box_weights(x, TARGET.log_prob).duality_gap}
TASKS = {
    "ksd": lambda x: sb.ksd(x, TARGET.score),
    "ksd, IMQ kernel": lambda x: sb.ksd(x, TARGET.score, kernel=sb.kernels.IMQ()),
    "gf_ksd, Gaussian surrogate": lambda x: sb.gf_ksd(x, TARGET.log_prob, surrogate=SURROGATE),
    "gf_ksd, default surrogate": lambda x: sb.gf_ksd(x, TARGET.log_prob),
    "mmd": lambda x: sb.mmd(x, TARGET.sample(len(x), np.random.default_rng(1))),
}


def run_task(name: str, n: int) -> None:
    """In the child process: do it and print seconds, peak megabytes and the value."""
    x = points(n)
    start = time.perf_counter()
    value = float((TASKS | SMALL_TASKS)[name](x))
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, value)


def task_row(name: str, n: int) -> str:
    """A line of the table, from a child process."""
    command = [sys.executable, __file__, "--task", name, "--n", str(n)]
    seconds, megabytes, value = map(float, subprocess.run(command, check=True, capture_output=True).stdout.split())
    return f"| {name} | {n:,} | {seconds:.3g} | {megabytes:.0f} | {value:.3g} |"


def thinning_lines(repetitions: int, n: int = 10_000, m: int = 100) -> list[str]:
    """Both thinnings in turn, on the same input."""
    from stein_thinning.thinning import thin_gf

    x = points(n)
    log_p, log_q, score = TARGET.log_prob(x), SURROGATE.log_prob(x), SURROGATE.score(x)
    kernel = {"kernel": sb.kernels.IMQ(), "bandwidth": 1.0, "coordinates": sb.coordinates.Plain()}
    ways = {
        "steinbox": lambda: sb.thin(x, log_p, m, surrogate=SURROGATE, **kernel),
        "stein_thinning": lambda: thin_gf(x, log_p, log_q, score, m, standardize=False),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    chosen = {}
    for _ in range(repetitions):
        for name, way in ways.items():
            start = time.perf_counter()
            chosen[name] = way()
            seconds[name].append(time.perf_counter() - start)
    agreement = int((chosen["steinbox"] == chosen["stein_thinning"]).sum())
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    lines = ["", f"| thinning, n = {n:,}, d = {DIMENSION}, m = {m} | seconds (median) | / steinbox |", "|---|---|---|"]
    lines += [f"| {name} | {each:.3f} | {each / medians['steinbox']:.1f} |" for name, each in medians.items()]
    return [*lines, "", f"{agreement} of {m} points chosen are the same, in the same order."]


def main() -> None:
    """Run everything, print it and write it."""
    parser = argparse.ArgumentParser(description="Time and memory of the discrepancies.")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--repetitions", type=int, default=7, help="of the thinning")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        run_task(arguments.task, arguments.n)
        return
    lines = [
        f"`python benchmarks/discrepancies.py`, {date.today()}; Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, load at the start {os.getloadavg()[0]:.1f}; "
        + ", ".join(f"{package} {version(package)}" for package in ("steinbox", "numpy", "scipy", "stein_thinning"))
        + f"; d = {DIMENSION}.\n",
        "| discrepancy | n | seconds | peak MB | value |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for n in arguments.sizes:
        for name in [*TASKS, *(SMALL_TASKS if n <= 1000 else [])]:
            lines.append(task_row(name, n))
            print(lines[-1], flush=True)
    lines += (thinning := thinning_lines(arguments.repetitions))
    print("\n".join(thinning))
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
