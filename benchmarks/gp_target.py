r"""The cost of the Gaussian process posterior: milliseconds per θ, and the noise of the estimate.

Draws of θ from the prior N(0, 5 I), 200 in one call, m = 100 samples of f each. Wall time and processor time per θ in
this process, and wall time in two processes (``executor=2``, once they have started); the noise is the mean standard
error of log p̂ that the target itself reports.

Run ``STEINBOX_DATA=folder python benchmarks/gp_target.py`` with Glass and SUSY in the folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np

import steinbox as sb
from steinbox.evaluation import Calls, Evaluator, as_workers

RESULTS = Path(__file__).parent / "results" / "gp_target.md"
WAYS = {
    "Laplace": sb.paper.targets.Laplace(),
    "EP, 3 sweeps": sb.paper.targets.ExpectationPropagation(),
    "EP to 1e-6": sb.paper.targets.ExpectationPropagation(num_sweeps=100, tolerance=1e-6),
}


def row(name: str, data: sb.paper.datasets.Dataset, way: str, num_points: int) -> str:
    """A line of the table."""
    target = sb.paper.targets.GPClassification(data.features, data.labels, approximation=WAYS[way], seed=0)
    theta = target.prior.sample(num_points, np.random.default_rng(0))
    target.log_prob(theta[:3])
    start, processor_start = time.perf_counter(), time.process_time()
    estimate = target.estimate(theta)
    wall, processor = time.perf_counter() - start, time.process_time() - processor_start
    parallel = seconds_in_two_processes(target, theta)
    cells = [
        f"{name}, N = {len(data.labels)}",
        way,
        f"{1000 * wall / num_points:.1f}",
        f"{1000 * processor / num_points:.1f}",
        f"{1000 * parallel / num_points:.1f}",
        f"{60 * num_points / parallel:,.0f}",
        f"{np.nanmean(estimate.standard_error):.3f}",
        str(target.num_failures),
    ]
    return f"| {' | '.join(cells)} |"


def seconds_in_two_processes(target: sb.paper.targets.GPClassification, theta: np.ndarray) -> float:
    """For all θ at once."""
    calls = Calls(target.log_prob, vectorized=True)
    with closing(as_workers(2, calls, timeout=None)) as workers:
        evaluator = Evaluator(calls, max_evals=2 * len(theta), workers=workers)
        evaluator(theta[:4])
        start = time.perf_counter()
        evaluator(theta)
        return time.perf_counter() - start


def main() -> None:
    """Run everything, print it and write it."""
    parser = argparse.ArgumentParser(description="Milliseconds per evaluation of the Gaussian process posterior.")
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    problems = {
        "Glass": sb.paper.datasets.load_glass(),
        "SUSY": sb.paper.datasets.load_susy(200),
        "SUSY, more": sb.paper.datasets.load_susy(500),
    }
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    lines = [
        f"`python benchmarks/gp_target.py --points {arguments.points}`, {date.today()}; Python "
        f"{platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores, OPENBLAS_NUM_THREADS {threads}, "
        f"load at the start {os.getloadavg()[0]:.1f}.\n",
        "| data | q | ms per θ | processor ms per θ | ms, 2 processes | per minute | sd of log p̂ | failures |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for name, data in problems.items():
        for way in WAYS:
            lines.append(row(name.removesuffix(", more"), data, way, arguments.points))
            print(lines[-1], flush=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
