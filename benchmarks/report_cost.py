"""What a report costs, and a live view that is looked at: seconds of the processor, and megabytes.

Run ``python benchmarks/report_cost.py``; the table goes to ``benchmarks/results/report_cost.md``.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import steinbox as sb

RESULTS = Path(__file__).parent / "results"
NUM_POINTS, DIMENSION = 20_000, 30
NUM_RUNS = 3  # of which the median is taken
TARGET = sb.targets.autoregressive(DIMENSION)


def main() -> None:
    """Measure and write."""
    seconds, megabytes = measure_report()
    alone, watched, num_pages = measure_live()
    text = (
        f"`python benchmarks/report_cost.py`: {NUM_POINTS:,} points of a pool in {DIMENSION} dimensions.\n\n"
        "| what | seconds of the processor |\n|---|---|\n"
        f"| a report ({megabytes:.1f} MB) | {seconds:.1f} |\n"
        f"| a run of {NUM_POINTS:,} evaluations | {alone:.1f} |\n"
        f"| the same with a live view, {num_pages} pages fetched by who looks | {watched:.1f} |\n"
    )
    print(text)
    (RESULTS / "report_cost.md").write_text(text)


def measure_report() -> tuple[float, float]:
    """Seconds and megabytes of a report of a large pool."""
    rng = np.random.default_rng(0)
    points, weights = TARGET.sample(NUM_POINTS, rng), rng.exponential(size=NUM_POINTS)
    log_prob = TARGET.log_prob(points)
    short = sb.sample(
        TARGET.log_prob, sb.Gaussian(np.zeros(DIMENSION), std=1.5), vectorized=True, max_evals=2_000, seed=0
    )
    large = replace(
        short,
        particles=points[:1_000],
        weights=np.full(1_000, 1e-3),
        log_prob=log_prob[:1_000],
        pool=points,
        pool_weights=weights / weights.sum(),
        pool_log_prob=log_prob,
        archive=sb.Archive(points, log_prob, np.zeros(NUM_POINTS)),
    )
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        page = large.report(Path(folder) / "run.html")
        return time.process_time() - begin, page.stat().st_size / 1e6


def measure_live() -> tuple[float, float, int]:
    """Median seconds of a run alone and looked at, and how many pages were fetched."""
    alone = [run(live=False)[0] for _ in range(NUM_RUNS)]
    watched = [run(live=True) for _ in range(NUM_RUNS)]
    seconds, pages = zip(*watched, strict=True)
    return float(np.median(alone)), float(np.median(seconds)), int(np.median(pages))


def run(*, live: bool) -> tuple[float, int]:
    """Seconds of a run, and pages that a visitor fetched, who asks as a browser does."""
    said, pages = io.StringIO(), []
    visitor = threading.Thread(target=visit, args=(said, pages), daemon=True)
    if live:
        visitor.start()
    with contextlib.redirect_stderr(said):
        begin = time.process_time()
        sb.sample(
            TARGET.log_prob,
            sb.Gaussian(np.zeros(DIMENSION), std=3),
            method=sb.AdaptiveImportanceSampling(stop_early=False),
            vectorized=True,
            max_evals=NUM_POINTS,
            seed=0,
            live=live,
            progress=False,
        )
        return time.process_time() - begin, len(pages)


def visit(said: io.StringIO, pages: list[int]) -> None:
    """Fetch a page every second until nobody answers; the stream is not opened, so that there is no last page."""
    while "http" not in said.getvalue():
        time.sleep(0.01)
    address = urlsplit(said.getvalue().split()[-1])
    with contextlib.suppress(OSError, http.client.HTTPException):
        while True:
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
            connection.request("GET", address.path)
            pages.append(len(connection.getresponse().read()))
            time.sleep(1)


if __name__ == "__main__":
    main()
