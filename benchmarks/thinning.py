r"""What thinning does to good points and to biased ones: 50 of 800, over seeds that no setting was chosen on.

The points are exact draws of the target, or such draws shifted by a fifth of a standard deviation and stretched 1.3
times. The entries are means over the seeds: MMD of the chosen points to 3,000 exact draws (of 50 exact draws it is
about .1), and their standard deviation over that of the target, averaged over coordinates: below one they are too
narrow.

``kernel thinning`` is that of the package goodpoints, if it is installed: like herding it represents the points, not
the target. The score of ``score`` is the exact one; the Laplacian is taken from it by differences.

Run ``python benchmarks/thinning.py``.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: times are those of one core

import argparse
import importlib.metadata
import platform
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

import steinbox as sb

try:
    from goodpoints import kt
except ImportError:
    kt = None

RESULTS = Path(__file__).parent / "results" / "thinning.md"
NUM_POINTS, NUM_KEPT, NUM_HALVINGS = 800, 50, 4  # kernel thinning halves: 800 / 2^4 = 50
NUM_REFERENCE = 3000
FIRST_SEED = 200  # those below were looked at when sb.thin was made
STEP = 1e-4  # of the differences, in standard deviations


def mixture(centers: np.ndarray, shares: list[float] | None = None) -> sb.GaussianMixture:
    return sb.GaussianMixture([sb.Gaussian(center, std=1.0) for center in centers], shares)


TARGETS = {
    "2-D Gaussian": sb.Gaussian([0.0, 0.0], cov=np.array([[2.0, 0.8], [0.8, 1.0]])),
    "two modes, 3 apart": mixture([[-1.5, 0.0], [1.5, 0.0]]),
    "two modes, 8 apart": mixture([[-4.0, 0.0], [4.0, 0.0]], [0.3, 0.7]),
    "5-D mixture": mixture(np.random.default_rng(1).uniform(-2, 2, size=(3, 5))),
    "10-D Gaussian": sb.Gaussian(np.zeros(10), std=1.0),
    "banana": sb.targets.Banana(),
    "ring": sb.targets.Ring(),
    "funnel, 3-D": sb.targets.Funnel(3),
}


def convexity(target: object, x: np.ndarray) -> np.ndarray:
    """The positive second derivatives of log p, summed, in units of the points' standard deviations."""
    scales, total = x.std(axis=0), np.zeros(len(x))
    for k, scale in enumerate(scales):
        step = np.zeros(x.shape[1])
        step[k] = STEP * scale
        second = (target.score(x + step)[:, k] - target.score(x - step)[:, k]) / (2 * step[k])
        total += np.maximum(scale**2 * second, 0.0)
    return total


def kernel_thinning(x: np.ndarray, seed: int) -> np.ndarray:
    """Of goodpoints, with the Gaussian kernel of MMD and its median bandwidth."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    bandwidth = float(np.median(((z[:, None] - z[None]) ** 2).sum(axis=2)))

    def kernel(y: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.exp(-((y - points) ** 2).sum(axis=-1) / bandwidth)

    return kt.thin(z, NUM_HALVINGS, kernel, kernel, seed=seed)


def ways(target: object, x: np.ndarray, seed: int) -> dict[str, Callable[[], np.ndarray]]:
    """Indices of the chosen points, by every way."""
    log_prob, equal, score = target.log_prob(x), np.ones(len(x)), target.score
    plain = {"entropy": 0.0}
    laplacian = {"laplacian": convexity(target, x), "coordinates": sb.coordinates.Standardized()}
    found = {
        "random subset": lambda: np.random.default_rng(seed).choice(len(x), NUM_KEPT, replace=False),
        "`sb.select`, equal weights (herding)": lambda: sb.select(x, equal, NUM_KEPT, log_prob=log_prob),
        "`sb.thin`": lambda: sb.thin(x, log_prob, NUM_KEPT),
        "`sb.thin`, score": lambda: sb.thin(x, log_prob, NUM_KEPT, score=score),
        "`sb.stein_thin`, plain": lambda: sb.stein_thin(x, log_prob, NUM_KEPT, **plain),
        "`sb.stein_thin`, plain, score": lambda: sb.stein_thin(x, log_prob, NUM_KEPT, score=score, **plain),
        "`sb.stein_thin`": lambda: sb.stein_thin(x, log_prob, NUM_KEPT),
        "`sb.stein_thin`, score, Laplacian": lambda: sb.stein_thin(x, log_prob, NUM_KEPT, score=score, **laplacian),
    }
    return found if kt is None else found | {"kernel thinning (goodpoints)": lambda: kernel_thinning(x, seed)}


def measure(target: object, seed: int, reference: np.ndarray, *, biased: bool) -> dict[str, tuple[float, ...]]:
    """MMD, spread and seconds of every way."""
    sd = np.sqrt(np.diag(np.cov(reference.T)))
    x = target.sample(NUM_POINTS, np.random.default_rng(seed))
    if biased:
        center = reference.mean(axis=0)
        x = center + 0.2 * sd + 1.3 * (x - center)
    outcome = {}
    for way, choose in ways(target, x, seed).items():
        start = time.process_time()
        chosen = x[choose()]
        seconds = time.process_time() - start
        outcome[way] = (sb.mmd(chosen, reference), float((chosen.std(axis=0) / sd).mean()), seconds)
    return outcome


def rows(name: str, seeds: range) -> list[str]:
    """The lines of the table for one target."""
    target = TARGETS[name]
    reference = target.sample(NUM_REFERENCE, np.random.default_rng(10_000))
    good, biased = ([measure(target, seed, reference, biased=b) for seed in seeds] for b in (False, True))
    lines = []
    for way in good[0]:
        a, b = (np.mean([outcome[way] for outcome in outcomes], axis=0) for outcomes in (good, biased))
        lines.append(
            f"| {name} | {way} | {a[0]:.3f} | {a[1]:.2f} | {b[0]:.3f} | {b[1]:.2f} | {(a[2] + b[2]) / 2:.2f} |"
        )
    return lines


def main() -> None:
    """Run all targets, print the table and write it."""
    parser = argparse.ArgumentParser(description="Thinning of good points and of biased ones.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    peer = "without goodpoints" if kt is None else f"goodpoints {importlib.metadata.version('goodpoints')}"
    lines = [
        f"`python benchmarks/thinning.py --seeds {arguments.seeds}`, {date.today()}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {peer}. Means over the seeds.\n",
        "| target | way | MMD, exact draws | sd | MMD, biased | sd | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for name in TARGETS:
        more = rows(name, range(FIRST_SEED, FIRST_SEED + arguments.seeds))
        lines += more
        print("\n".join(more), flush=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
