r"""Does thinning harm? 25 of 400 points, good ones and biased ones, over seeds that no setting was chosen on.

The points are exact draws of the target; the same shifted by a fifth of a standard deviation and stretched 1.3 times
(wide), or shrunk to 0.75 (narrow); or every fourth state of a random-walk Metropolis chain, with its burn-in. An entry
is the MMD of the chosen points to 2,000 exact draws and, in brackets, their standard deviation over that of the target,
averaged over coordinates; both are means over the seeds. A random subset has the mean of twenty.

The first table counts, for every way, the cells of the second in which it is worse than a random subset by more than
noise: by two standard errors of the mean over seeds of a single random subset.

``kernel thinning`` is that of the package goodpoints, ``kernel herding`` that of coreax, both with the kernel of MMD
and the points' median bandwidth; like ``sb.select`` they represent the points, not the target. Without these
packages their rows are left out, and the first line says so. The score of ``score`` is the exact one; the Laplacian
is taken from it by differences.

Run ``python benchmarks/thinning.py``. The settings of ``sb.thin`` were chosen on seeds 0 to 4.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: times are those of one core

import argparse
import importlib.metadata
import importlib.util
import platform
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

import steinbox as sb

RESULTS = Path(__file__).parent / "results" / "thinning.md"
NUM_POINTS, NUM_KEPT, NUM_HALVINGS = 400, 25, 4  # kernel thinning halves: 400 / 2^4 = 25
NUM_REFERENCE, NUM_SUBSETS = 2000, 20
STEP = 1e-4  # of the differences, in standard deviations
KINDS = ("exact", "wide", "narrow", "chain")
PEERS = [name for name in ("goodpoints", "coreax") if importlib.util.find_spec(name)]
RANDOM = "random subset"


def mixture(centers: np.ndarray, shares: list[float] | None = None) -> sb.GaussianMixture:
    return sb.GaussianMixture([sb.Gaussian(center, std=1.0) for center in centers], shares)


TARGETS = {
    "2-D Gaussian": sb.Gaussian([0.0, 0.0], cov=np.array([[2.0, 0.8], [0.8, 1.0]])),
    "10-D Gaussian": sb.Gaussian(np.zeros(10), std=1.0),
    "two modes, 3 apart": mixture([[-1.5, 0.0], [1.5, 0.0]]),
    "two modes, 8 apart": mixture([[-4.0, 0.0], [4.0, 0.0]], [0.3, 0.7]),
    "5-D mixture": mixture(np.random.default_rng(1).uniform(-2, 2, size=(3, 5))),
    "banana": sb.targets.Banana(),
    "ring": sb.targets.Ring(),
    "funnel, 3-D": sb.targets.Funnel(3),
}


def draw(kind: str, target: object, reference: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The points to thin."""
    center, sd = reference.mean(axis=0), reference.std(axis=0)
    if kind == "chain":
        return run_chain(target, center, sd, rng)
    x = target.sample(NUM_POINTS, rng)
    if kind == "wide":
        return center + 0.2 * sd + 1.3 * (x - center)
    return x if kind == "exact" else center + 0.75 * (x - center)


def run_chain(target: object, center: np.ndarray, sd: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every fourth state of a random walk that starts four standard deviations out."""
    dimension, states = len(sd), []
    x = center + 4 * sd * rng.choice([-1, 1], dimension) / np.sqrt(dimension)
    value = target.log_prob(x[None])[0]
    for _ in range(4 * NUM_POINTS):
        proposed = x + 1.7 / np.sqrt(dimension) * sd * rng.standard_normal(dimension)
        new = target.log_prob(proposed[None])[0]
        if np.log(rng.random()) < new - value:
            x, value = proposed, new
        states.append(x)
    return np.array(states)[::4]


def convexity(target: object, x: np.ndarray) -> np.ndarray:
    """The positive second derivatives of log p, summed, in units of the points' standard deviations."""
    scales, total = x.std(axis=0), np.zeros(len(x))
    for k, scale in enumerate(scales):
        step = np.zeros(x.shape[1])
        step[k] = STEP * scale
        second = (target.score(x + step)[:, k] - target.score(x - step)[:, k]) / (2 * step[k])
        total += np.maximum(scale**2 * second, 0.0)
    return total


def scale_to_kernel(x: np.ndarray) -> np.ndarray:
    """Coordinates in which the kernel of MMD is exp(−‖z − z'‖²)."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    different = np.unique(z, axis=0)  # a chain may stand still
    return z / np.sqrt(np.median(((different[:, None] - different[None]) ** 2).sum(axis=2)))


def kernel_thinning(x: np.ndarray, seed: int) -> np.ndarray:
    """Of goodpoints."""
    from goodpoints import kt

    def kernel(y: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.exp(-((y - points) ** 2).sum(axis=-1))

    return kt.thin(scale_to_kernel(x), NUM_HALVINGS, kernel, kernel, seed=seed)


def kernel_herding(x: np.ndarray) -> np.ndarray:
    """Of coreax."""
    from coreax import Data
    from coreax.kernels import SquaredExponentialKernel
    from coreax.solvers import KernelHerding

    solver = KernelHerding(coreset_size=NUM_KEPT, kernel=SquaredExponentialKernel(length_scale=0.5**0.5))
    return np.asarray(solver.reduce(Data(scale_to_kernel(x)))[0].indices.data).reshape(-1)


def ways(target: object, x: np.ndarray, seed: int) -> dict[str, Callable[[], np.ndarray]]:
    """Indices of the chosen points, by every way but the random one."""
    log_prob, equal, score = target.log_prob(x), np.ones(len(x)), target.score
    laplacian = {"laplacian": convexity(target, x), "coordinates": sb.coordinates.Standardized()}
    found = {
        "`sb.select`, equal weights": lambda: sb.select(x, equal, NUM_KEPT, log_prob=log_prob),
        "`sb.thin`": lambda: sb.thin(x, log_prob, NUM_KEPT),
        "`sb.thin`, score": lambda: sb.thin(x, log_prob, NUM_KEPT, score=score),
        "`sb.stein_thin`, plain": lambda: sb.stein_thin(x, log_prob, NUM_KEPT, entropy=0.0),
        "`sb.stein_thin`": lambda: sb.stein_thin(x, log_prob, NUM_KEPT),
        "`sb.stein_thin`, score, Laplacian": lambda: sb.stein_thin(x, log_prob, NUM_KEPT, score=score, **laplacian),
        "kernel thinning (goodpoints)": lambda: kernel_thinning(x, seed),
        "kernel herding (coreax)": lambda: kernel_herding(x),
    }
    return {way: choose for way, choose in found.items() if "(" not in way or way.split("(")[1][:-1] in PEERS}


def measure(target: object, kind: str, seed: int, reference: np.ndarray) -> dict[str, tuple[float, ...]]:
    """MMD, spread and seconds of every way; for the random one, the scatter of MMD in place of seconds."""
    sd, rng = reference.std(axis=0), np.random.default_rng(seed)
    x = draw(kind, target, reference, rng)

    def judge(chosen: np.ndarray) -> tuple[float, float]:
        return sb.mmd(x[chosen], reference), float((x[chosen].std(axis=0) / sd).mean())

    subsets = np.array([judge(rng.choice(len(x), NUM_KEPT, replace=False)) for _ in range(NUM_SUBSETS)])
    outcome = {RANDOM: (*subsets.mean(axis=0), float(subsets[:, 0].std(ddof=1)))}
    for way, choose in ways(target, x, seed).items():
        start = time.process_time()
        chosen = choose()
        outcome[way] = (*judge(chosen), time.process_time() - start)
    return outcome


def measure_target(name: str, seeds: range) -> dict[tuple[str, str], np.ndarray]:
    """Means over the seeds by way and kind of points."""
    target = TARGETS[name]
    reference = target.sample(NUM_REFERENCE, np.random.default_rng(10_000))
    cells = {}
    for kind in KINDS:
        outcomes = [measure(target, kind, seed, reference) for seed in seeds]
        for way in outcomes[0]:
            cells[way, kind] = np.mean([outcome[way] for outcome in outcomes], axis=0)
    return cells


def lines_of(name: str, cells: dict[tuple[str, str], np.ndarray]) -> list[str]:
    """The rows of one target."""
    return [
        f"| {name} | {way} | " + " | ".join(f"{cells[way, k][0]:.3f} ({cells[way, k][1]:.2f})" for k in KINDS) + " |"
        for way in dict.fromkeys(way for way, _ in cells)
    ]


def summarize(measured: dict[str, dict[tuple[str, str], np.ndarray]], num_seeds: int) -> list[str]:
    """How often each way is worse than a random subset, and by how much."""
    lines = [
        "| way | worse than a random subset | largest ratio of MMD | where | ratio on average | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for way in list(dict.fromkeys(way for way, _ in next(iter(measured.values()))))[1:]:
        ratios, num_worse, seconds = {}, 0, []
        for name, cells in measured.items():
            for kind in KINDS:
                mmd, at_random, scatter = cells[way, kind][0], *cells[RANDOM, kind][[0, 2]]
                ratios[f"{name}, {kind}"] = mmd / at_random
                num_worse += mmd > at_random + 2 * scatter / np.sqrt(num_seeds)
                seconds.append(cells[way, kind][2])
        worst = max(ratios, key=ratios.get)
        average = np.exp(np.mean(np.log(list(ratios.values()))))
        lines.append(
            f"| {way} | {num_worse} of {len(ratios)} | {ratios[worst]:.2f} | {worst} | {average:.2f} | "
            f"{np.mean(seconds):.2f} |"
        )
    return lines


def main() -> None:
    """Run all targets, print the tables and write them."""
    parser = argparse.ArgumentParser(description="Thinning of good points and of biased ones.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PEERS]
    missing = [f"without {name}, which is not installed" for name in ("goodpoints", "coreax") if name not in PEERS]
    head = (
        f"`python benchmarks/thinning.py --seeds {arguments.seeds} --first-seed {arguments.first_seed}`, "
        f"{date.today()}; Python {platform.python_version()}, NumPy {np.__version__}, {', '.join(versions + missing)}."
    )
    rows = ["| target | way | exact draws | wide | narrow | chain |", "|---|---|---|---|---|---|"]
    print("\n".join([head, *rows]), flush=True)
    measured = {}
    for name in TARGETS:
        measured[name] = measure_target(name, seeds)
        more = lines_of(name, measured[name])
        rows += more
        print("\n".join(more), flush=True)
    summary = summarize(measured, len(seeds))
    print("\n".join(summary))
    arguments.output.write_text("\n".join([head, "", *summary, "", *rows]) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
