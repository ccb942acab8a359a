r"""What black-box weights and Stein thinning are worth on draws of a wrong proposal, over 50 seeds.

Every problem has 200 points drawn from a proposal that is shifted and 1.3 times as wide as the target. The entries are
root mean squares over the seeds of three errors: of the weighted mean and of the weighted variances (averaged over
coordinates, in units of the target's standard deviations and variances), and MMD to 5,000 exact draws.

``importance`` is self-normalised importance sampling: the only row that knows the proposal's density. Stein thinning
keeps 50 of the points; ``benchmarks/thinning.py`` compares ways to thin.

Run ``python benchmarks/black_box.py``.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: the processes side by side are the parallelism

import argparse
import platform
import warnings
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

import steinbox as sb

RESULTS = Path(__file__).parent / "results" / "black_box.md"
NUM_POINTS, NUM_KEPT = 200, 50
TARGETS = {
    "2-D Gaussian": sb.paper.targets.paper_gaussian(),
    "two modes, 3 apart": sb.GaussianMixture([sb.Gaussian([sign * 1.5, 0.0], std=1.0) for sign in (-1, 1)]),
    "5-D mixture": sb.GaussianMixture(
        [sb.Gaussian(mean, std=1.0) for mean in np.random.default_rng(0).uniform(-2, 2, size=(3, 5))]
    ),
    "banana": sb.targets.Banana(),
}
WAYS = (
    "equal weights",
    "importance",
    "black box",
    "black box, λ = 0",
    "black box, score",
    f"plain Stein thinning, {NUM_KEPT} points",
    "exact draws",
)


def weighted_samples(target: object, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points and weights of every way, in the order of ``WAYS``."""
    sd = np.sqrt(np.diag(target.cov))
    draws = target.sample(NUM_POINTS, rng)
    x = target.mean + 0.2 * sd + 1.3 * (draws - target.mean)
    log_prob = target.log_prob(x)
    ratio = np.exp(log_prob - target.log_prob(draws))  # the proposal is the target, moved and stretched
    chosen = x[sb.stein_thin(x, log_prob, NUM_KEPT, entropy=0)]
    return [
        (x, np.full(NUM_POINTS, 1 / NUM_POINTS)),
        (x, ratio / ratio.sum()),
        (x, sb.black_box_weights(x, log_prob).weights),
        (x, sb.black_box_weights(x, log_prob, regularization=0.0).weights),
        (x, sb.black_box_weights(x, None, score=target.score).weights),
        (chosen, np.full(NUM_KEPT, 1 / NUM_KEPT)),
        (target.sample(NUM_POINTS, rng), np.full(NUM_POINTS, 1 / NUM_POINTS)),
    ]


def squared_errors(name: str, seed: int) -> list[tuple[float, float, float]]:
    """Of mean, variance and MMD, for every way."""
    target = TARGETS[name]
    variances = np.diag(target.cov)
    reference = target.sample(5000, np.random.default_rng(10_000))
    errors = []
    for x, weights in weighted_samples(target, np.random.default_rng(seed)):
        mean = weights @ x
        variance = weights @ (x - mean) ** 2
        errors.append(
            (
                float(((mean - target.mean) ** 2 / variances).mean()),
                float(((variance / variances - 1) ** 2).mean()),
                float(sb.mmd(x, reference, weights=weights) ** 2),
            )
        )
    return errors


def main() -> None:
    """Run all problems, print the table and write it."""
    parser = argparse.ArgumentParser(description="Black-box weights and thinning on draws of a wrong proposal.")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/black_box.py --seeds {arguments.seeds}`, {date.today()}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}. "
        f"Root mean squares over the seeds, {NUM_POINTS} points.\n",
        "| target | weights | mean | variance | MMD |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    with ProcessPoolExecutor() as pool:
        for name in TARGETS:
            outcomes = np.array(list(pool.map(partial(squared_errors, name), range(arguments.seeds))))
            for way, errors in zip(WAYS, np.sqrt(outcomes.mean(axis=0)), strict=True):
                lines.append(f"| {name} | {way} | {' | '.join(f'{error:.3f}' for error in errors)} |")
                print(lines[-1], flush=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
