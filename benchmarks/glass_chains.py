r"""How well Markov chains mix on the Gaussian process posterior of Glass: effective sample size per evaluation.

The log-density is estimated with fresh noise at every point and kept, so that the chains are pseudo-marginal ones. All
chains start at draws of the prior N(0, 5 I) and learn in the first half of the run, which is dropped. One evaluation is
one step of one chain: KHMC's leapfrog steps cost none.

Effective sample sizes are those of the mean, from split chains with Geyer's truncation (Vehtari et al., 2021), per
1,000 evaluations after the first half. "min" and "median" are over the nine coordinates of each chain by itself, then
mean ± sd over the chains; a chain that never leaves a corner looks good there. "all chains" is the smallest over the
coordinates when the chains are taken together, which sees that. R-hat is the largest over the coordinates.

Run ``STEINBOX_DATA=folder python benchmarks/glass_chains.py`` with Glass in the folder; on two cores it takes two
minutes per method.
"""

from __future__ import annotations

import argparse
import platform
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

import steinbox as sb
from steinbox.paper.ground_truth import r_hat

RESULTS = Path(__file__).parent / "results" / "glass_chains.md"
METHODS = {
    "RandomWalkMetropolis()": sb.baselines.RandomWalkMetropolis(),
    "AdaptiveMetropolis()": sb.baselines.AdaptiveMetropolis(),
    "KAMH()": sb.baselines.KAMH(),
    "KHMC()": sb.baselines.KHMC(),
    "KHMC(target_acceptance=0.35)": sb.baselines.KHMC(target_acceptance=0.35),
}


def run(method: sb.baselines.KHMC, num_chains: int, num_iterations: int, seed: int, num_workers: int) -> np.ndarray:
    """The second half of every chain, (chains, iterations, coordinates)."""
    data = sb.paper.datasets.load_glass()
    target = sb.paper.targets.GPClassification(data.features, data.labels)
    history = []
    sb.sample(
        target.log_prob,
        target.prior,
        method=replace(method, num_iterations=num_iterations),
        num_particles=num_chains,
        vectorized=True,
        executor=num_workers,
        seed=seed,
        callback=lambda iteration: history.append(iteration.particles),
    )
    return np.array(history[num_iterations // 2 + 1 :]).swapaxes(0, 1)


def split(chains: np.ndarray) -> np.ndarray:
    """Both halves of every chain, (2 chains, n): a drift within a chain is then a difference between two."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def variances(halves: np.ndarray) -> tuple[float, float]:
    """Within the chains, and of the target as all chains together see it."""
    within = float(halves.var(axis=1, ddof=1).mean())
    return within, float(within * (1 - 1 / halves.shape[1]) + halves.mean(axis=1).var(ddof=1))


def effective_sample_size(chains: np.ndarray) -> float:
    """Effective sample size of the mean of one coordinate, (chains, n)."""
    halves = split(chains)
    num_draws = halves.shape[1]
    within, total = variances(halves)
    spectrum = np.fft.rfft(halves - halves.mean(axis=1, keepdims=True), 2 * num_draws)
    covariances = np.fft.irfft(np.abs(spectrum) ** 2)[:, :num_draws].mean(axis=0) / (num_draws - 1)
    correlations = 1 - (within - covariances) / total
    correlations[0] = 1
    pairs = correlations[: num_draws // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: np.argmax(pairs < 0)] if (pairs < 0).any() else pairs
    return halves.size / (2 * np.minimum.accumulate(positive).sum() - 1)


def row(name: str, chains: np.ndarray, seconds: float) -> str:
    """A line of the table."""
    num_chains, num_draws, dimension = chains.shape
    sizes = np.array([[effective_sample_size(chain[None, :, k]) for k in range(dimension)] for chain in chains])
    together = min(effective_sample_size(chains[:, :, k]) for k in range(dimension))
    moved = (np.diff(chains, axis=1) != 0).any(axis=2).mean(axis=1)
    cells = [
        name,
        plus_minus(1000 / num_draws * sizes.min(axis=1), 1),
        plus_minus(1000 / num_draws * np.median(sizes, axis=1), 1),
        f"{1000 * together / (num_chains * num_draws):.1f}",
        plus_minus(moved, 2),
        f"{r_hat(chains):.2f}",
        f"{seconds:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def plus_minus(values: np.ndarray, digits: int) -> str:
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def main() -> None:
    """Run everything, print it and write it."""
    parser = argparse.ArgumentParser(description="Effective sample size per evaluation of Markov chains on Glass.")
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/glass_chains.py --chains {arguments.chains} --iterations {arguments.iterations} "
        f"--seed {arguments.seed}`, {date.today()}; Python {platform.python_version()}, NumPy {np.__version__}. "
        "Effective sample sizes per 1,000 evaluations.\n",
        "| method | min | median | min, all chains | acceptance | worst R-hat | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for name, method in METHODS.items():
        start = time.perf_counter()
        chains = run(method, arguments.chains, arguments.iterations, arguments.seed, arguments.workers)
        lines.append(row(name, chains, time.perf_counter() - start))
        print(lines[-1], flush=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
