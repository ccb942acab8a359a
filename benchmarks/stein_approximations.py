"""What approximations of the Stein direction miss: random features, landmarks, a subset, nearest neighbors.

Four ways to spend O(nm) instead of O(n²), here with the default bandwidth:

features
    m orthogonal random features of the Gaussian kernel, drawn anew at every move: ``sb.RandomFeatures``.
landmarks
    exact at m particles, drawn anew at every move, and interpolated to the others in the kernel's space (Nyström).
subset
    the sum over m particles drawn anew at every move: unbiased, too.
nearest
    the sum over the m particles nearest to each (without a search tree: what it misses, not what it costs).

Tables: the error of the direction, relative to the exact one and to its own sampling noise, which is how far the
direction of n independent draws is from that of infinitely many; the same with narrower kernels, and what of it
``RandomFeatures().relative_error`` says; MMD of SVGD's particles with each; processor seconds of
``sb.RandomFeatures()`` beside exact sums.

Run ``python benchmarks/stein_approximations.py``, some minutes on one core; it writes
benchmarks/results/stein_approximations.md.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: times are those of one core

import argparse
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np

import steinbox as sb
from steinbox.numerics.bandwidth import as_rule
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.random_features import draw_frequencies, feature_stein_sums
from steinbox.samplers.stein.direction import stein_direction

sys.path.insert(0, str(Path(__file__).parent / "accuracy"))

from problems import PROBLEMS

RESULTS = Path(__file__).parent / "results" / "stein_approximations.md"
NUM_FEATURES = 500  # or landmarks, or particles
NUM_POINTS = 300  # where errors are measured
NUM_FOR_BANDWIDTH = 5_000  # particles: the median of all distances would take most of the time
RULES = ("median", "liu-wang", "paper")  # ever narrower
CHUNK = 2_000
Array = np.ndarray
Forces = tuple[Array, Array, Array]  # particles, scores, weights


def sums_at(points: Array, forces: Forces, h: float) -> Array:
    """The exact direction at some points."""
    x, score, weights = forces
    factor = weights[:, None] * np.column_stack([score - 2 / h * x, np.ones(len(x))])
    sums = [np.exp(-squared_distances(points[rows], x) / h) @ factor for rows in chunks(len(points), 100)]
    moments = np.concatenate(sums)
    return moments[:, :-1] + 2 / h * points * moments[:, -1:]


def features_at(points: Array, forces: Forces, h: float, m: int, rng: np.random.Generator) -> Array:
    x, score, weights = forces
    together = np.concatenate([points, x])  # the points push nobody
    scores, shares = np.concatenate([np.zeros_like(points), score]), np.concatenate([np.zeros(len(points)), weights])
    frequencies = draw_frequencies(m, x.shape[1], h, rng)
    return feature_stein_sums(together, scores, shares, frequencies)[: len(points)]


def landmarks_at(points: Array, forces: Forces, h: float, m: int, rng: np.random.Generator) -> Array:
    x = forces[0]
    chosen = x[rng.choice(len(x), m, replace=False)]
    matrix = np.exp(-squared_distances(chosen, chosen) / h) + 1e-8 * m * np.eye(m)
    coefficients = np.linalg.solve(matrix, sums_at(chosen, forces, h))
    parts = [np.exp(-squared_distances(points[rows], chosen) / h) @ coefficients for rows in chunks(len(points))]
    return np.concatenate(parts)


def subset_at(points: Array, forces: Forces, h: float, m: int, rng: np.random.Generator) -> Array:
    chosen = rng.choice(len(forces[0]), m, replace=False)
    x, score, weights = (each[chosen] for each in forces)
    return sums_at(points, (x, score, weights / weights.sum()), h)


def nearest_at(points: Array, forces: Forces, h: float, m: int, rng: np.random.Generator) -> Array:
    x, score, weights = forces
    direction = np.empty_like(points)
    for rows in chunks(len(points), 200):
        u = squared_distances(points[rows], x) / h
        value = np.exp(-u) * (u <= np.partition(u, m - 1, axis=1)[:, [m - 1]]) * weights
        moments = value @ np.column_stack([score - 2 / h * x, np.ones(len(x))])
        direction[rows] = moments[:, :-1] + 2 / h * points[rows] * moments[:, -1:]
    return direction


WAYS = {"features": features_at, "landmarks": landmarks_at, "subset": subset_at, "nearest": nearest_at}


@dataclass(frozen=True)
class Way:
    """One of these as the ``direction=`` of a Stein sampler; draws anew at every move."""

    name: str
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)

    def __call__(
        self, x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0
    ) -> Array:
        return WAYS[self.name](x, (x, score, weights), bandwidth, NUM_FEATURES, self.rng)


def chunks(n: int, height: int = CHUNK) -> Iterator[slice]:
    return (slice(start, start + height) for start in range(0, n, height))


def particles(state: str, n: int, d: int, rng: np.random.Generator) -> Forces:
    """On the way: draws from N(1, 4 I) for the target N(0, I). Settled: draws from a mixture of ten. Whitened."""
    if state == "on the way":
        x = 1 + 2 * rng.normal(size=(n, d))
        score = -x
    else:
        means = 2 * np.random.default_rng(5).normal(size=(10, d))
        target = sb.GaussianMixture([sb.Gaussian(mean, std=1.0) for mean in means])
        x = target.sample(n, rng)
        score = np.concatenate([target.score(x[rows]) for rows in chunks(n)])
    scale = x.std(axis=0)
    return (x - x.mean(axis=0)) / scale, score * scale, np.full(n, 1 / n)


def sampling_noise(points: Array, forces: Forces, h: float) -> float:
    """The root mean square error of a direction that is the mean over n independent draws."""
    x, score, _ = forces
    variances = []
    for point in points[:100]:
        terms = np.exp(-((point - x) ** 2).sum(axis=1) / h)[:, None] * (score + 2 / h * (point - x))
        variances.append(terms.var(axis=0).sum() / len(x))
    return float(np.sqrt(np.mean(variances)))


def size(vectors: Array) -> float:
    return float(np.sqrt((vectors**2).sum(axis=1).mean()))


def error_row(state: str, d: int, n: int) -> str:
    """Errors of all ways."""
    rng = np.random.default_rng(n + d)
    forces = particles(state, n, d, rng)
    x = forces[0]
    h, points = find_bandwidth(x), x[rng.choice(n, NUM_POINTS, replace=False)]
    exact = sums_at(points, forces, h)
    noise = sampling_noise(points, forces, h)
    cells = [state, f"{d}", f"{n:,}"]
    for way in WAYS.values():
        error = size(way(points, forces, h, NUM_FEATURES, rng) - exact)
        cells.append(f"{error / size(exact):.2g} ({error / noise:.2g})")
    return f"| {' | '.join(cells)} |"


def find_bandwidth(x: Array) -> float:
    return sb.bandwidth.Median()(x[:NUM_FOR_BANDWIDTH])


def narrow_row(state: str, d: int, rule: str, n: int = 4_000) -> str:
    """Errors of all ways with one rule for the bandwidth."""
    rng = np.random.default_rng(n + d)
    forces = particles(state, n, d, rng)
    x = forces[0]
    h, points = as_rule(rule)(x), x[rng.choice(n, NUM_POINTS, replace=False)]
    exact = sums_at(points, forces, h)
    errors = [size(way(points, forces, h, NUM_FEATURES, rng) - exact) / size(exact) for way in WAYS.values()]
    said = sb.RandomFeatures(NUM_FEATURES).relative_error(*forces, RBF(), h)
    return f"| {state} | {d} | {rule} | {h:.2g} | {' | '.join(f'{each:.2g}' for each in errors)} | {said:.2g} |"


def result_row(name: str, n: int, seed: int) -> str:
    """The MMD of n particles after 100 moves of SVGD with each direction, and of n exact draws."""
    problem = PROBLEMS[name]
    exact = problem.sample(5_000, np.random.default_rng(1))
    directions = [stein_direction, sb.RandomFeatures(), *(Way(way) for way in WAYS if way != "features")]
    cells = [name, f"{n:,}", f"{seed}", f"{sb.mmd(problem.sample(n, np.random.default_rng(2)), exact):.4f}"]
    for direction in directions:
        result = sb.sample(
            problem.log_prob,
            problem.initial,
            method=sb.SVGD(num_iterations=100, direction=direction),
            score=problem.score,
            num_particles=n,
            vectorized=True,
            seed=seed,
        )
        cells.append(f"{sb.mmd(result.particles, exact):.4f}")
    return f"| {' | '.join(cells)} |"


def time_row(d: int, n: int) -> str:
    """Processor seconds of ``sb.RandomFeatures()`` and of exact sums."""
    forces = particles("settled", n, d, np.random.default_rng(n + d))
    h = find_bandwidth(forces[0])
    start = time.process_time()
    sb.RandomFeatures()(*forces, RBF(), h)
    middle = time.process_time()
    stein_direction(*forces, RBF(), h)
    seconds, exact_seconds = middle - start, time.process_time() - middle
    return f"| {d} | {n:,} | {seconds:.2f} | {exact_seconds:.2f} | {exact_seconds / seconds:.1f} |"


def main() -> None:
    """All tables, printed and written."""
    parser = argparse.ArgumentParser(description="Approximations of the Stein direction.")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    states, dimensions = ("on the way", "settled"), (2, 10, 25)
    lines: list[str] = []

    def say(*new: str) -> None:
        print("\n".join(new), flush=True)
        lines.extend(new)

    command = " ".join(["python benchmarks/stein_approximations.py", *sys.argv[1:]])
    say(
        f"`{command}`, {date.today()}; Python {platform.python_version()}, NumPy {np.__version__}, one thread, load at"
        f" the start {os.getloadavg()[0]:.1f}.",
        "",
        f"Error of the direction with {NUM_FEATURES} features, landmarks or particles, relative to its size; in"
        " brackets, relative to its sampling noise.",
        "",
        f"| particles | d | n | {' | '.join(WAYS)} |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    )
    for state in states:
        for d in dimensions:
            for n in arguments.sizes:
                say(error_row(state, d, n))
    say("", f"The same with other rules for the bandwidth; n = 4,000, {NUM_FEATURES} each.", "")
    say(
        f"| particles | d | bandwidth | h | {' | '.join(WAYS)} | features say |", f"| --- | ---: | --- |{' ---: |' * 6}"
    )
    for state in states:
        for d in dimensions:
            for rule in RULES:
                say(narrow_row(state, d, rule))
    say("", f"MMD of the particles after 100 moves of SVGD, each with {NUM_FEATURES}.", "")
    say(f"| problem | n | seed | exact draws | exact sums | {' | '.join(WAYS)} |", f"| --- |{' ---: |' * 8}")
    for name in ("gauss2", "gmm25"):
        for seed in range(arguments.seeds):
            say(result_row(name, 1_000, seed))
    say("", "Processor seconds of one direction.", "")
    say("| d | n | `sb.RandomFeatures()` | exact sums | ratio |", "| ---: | ---: | ---: | ---: | ---: |")
    for d in dimensions[1:]:
        for n in arguments.sizes:
            say(time_row(d, n))
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
