r"""Size and power of :func:`steinbox.goodness_of_fit`: with the target's score, and with surrogates in its place.

Every row is a target and a way to draw a sample of n = 500 points; the entries are the share of repetitions in which
the test rejects at level 0.05. In the rows "exact" the sample is one of the target, and 0.05 is right.

Run ``python benchmarks/fit_test.py``; ``--repetitions 20`` is a quick look.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: the processes side by side are the parallelism

import argparse
import platform
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

import steinbox as sb
from steinbox.surrogates import FittedGaussian, Interpolant

RESULTS = Path(__file__).parent / "results" / "fit_test.md"
NUM_POINTS = 500
LEVEL = 0.05
Draw = Callable[[int, np.random.Generator], np.ndarray]

GAUSSIAN = sb.paper.targets.paper_gaussian()
MIXTURE = sb.GaussianMixture(
    [sb.Gaussian(mean, std=1.0) for mean in np.random.default_rng(0).uniform(-2, 2, size=(3, 5))]
)
BANANA = sb.targets.Banana()
TWO_MODES = sb.GaussianMixture([sb.Gaussian([-1.5, 0.0], std=1.0), sb.Gaussian([1.5, 0.0], std=1.0)])
FAR_MODES = sb.GaussianMixture([sb.Gaussian([-4.0, 0.0], std=1.0), sb.Gaussian([4.0, 0.0], std=1.0)])
HIGH = sb.paper.targets.paper_gmm(seed=0)
TARGETS = {
    "2-D Gaussian": GAUSSIAN,
    "5-D mixture": MIXTURE,
    "banana": BANANA,
    "two modes, 3 apart": TWO_MODES,
    "two modes, 8 apart": FAR_MODES,
    "25-D mixture": HIGH,
}


def shifted(target: object, share: float) -> Draw:
    """The target moved along its first coordinate by a share of its standard deviation."""
    offset = np.zeros(target.dimension if hasattr(target, "dimension") else 2)
    offset[0] = share * np.sqrt(target.cov[0, 0])
    return lambda n, rng: target.sample(n, rng) + offset


def scaled(target: object, factor: float) -> Draw:
    """The target with its covariance multiplied by a factor."""
    return lambda n, rng: target.mean + np.sqrt(factor) * (target.sample(n, rng) - target.mean)


CASES: dict[tuple[str, str], Draw] = {
    ("2-D Gaussian", "exact"): GAUSSIAN.sample,
    ("2-D Gaussian", "mean + 0.3 sd"): shifted(GAUSSIAN, 0.3),
    ("2-D Gaussian", "variance × 1.5"): scaled(GAUSSIAN, 1.5),
    ("2-D Gaussian", "variance × 0.7"): scaled(GAUSSIAN, 0.7),
    ("2-D Gaussian", "variance × 1.2"): scaled(GAUSSIAN, 1.2),
    ("5-D mixture", "exact"): MIXTURE.sample,
    ("5-D mixture", "mean + 0.3 sd"): shifted(MIXTURE, 0.3),
    ("5-D mixture", "variance × 1.5"): scaled(MIXTURE, 1.5),
    ("5-D mixture", "variance × 0.7"): scaled(MIXTURE, 0.7),
    ("5-D mixture", "variance × 1.2"): scaled(MIXTURE, 1.2),
    ("5-D mixture", "one of three components missing"): sb.GaussianMixture(MIXTURE.components[:2]).sample,
    ("banana", "exact"): BANANA.sample,
    ("banana", "mean + 0.3 sd"): shifted(BANANA, 0.3),
    ("banana", "variance × 1.5"): scaled(BANANA, 1.5),
    ("banana", "variance × 0.7"): scaled(BANANA, 0.7),
    ("two modes, 3 apart", "exact"): TWO_MODES.sample,
    ("two modes, 3 apart", "one mode missing"): TWO_MODES.components[0].sample,
    ("two modes, 8 apart", "exact"): FAR_MODES.sample,
    ("two modes, 8 apart", "one mode missing"): FAR_MODES.components[0].sample,
    ("25-D mixture", "exact"): HIGH.sample,
    ("25-D mixture", "mean + 0.3 sd"): shifted(HIGH, 0.3),
    ("25-D mixture", "variance × 1.5"): scaled(HIGH, 1.5),
}
SURROGATES = {
    "leave-one-out (default)": None,
    "interpolant of all points": Interpolant(),
    "fitted Gaussian": FittedGaussian(inflation=1.0),
    "fitted Gaussian, variance × 1.5": FittedGaussian(inflation=1.5),
}


def one_repetition(case: tuple[str, str], seed: int) -> list[tuple[float, float]]:
    """p-values and effective sample sizes of one sample: by the score with two kernels, then by every surrogate."""
    target, rng = TARGETS[case[0]], np.random.default_rng([seed, *case[1].encode()])
    x = CASES[case](NUM_POINTS, rng)
    log_prob = target.log_prob(x)
    by_score = [{"score": target.score}, {"score": target.score, "kernel": sb.kernels.IMQ()}]
    ways = [*by_score, *({"surrogate": surrogate} for surrogate in SURROGATES.values())]
    tests = [sb.goodness_of_fit(x, log_prob, num_bootstrap=500, rng=seed, **way) for way in ways]
    return [(test.p_value, test.effective_sample_size) for test in tests]


def row(case: tuple[str, str], outcomes: np.ndarray) -> str:
    """A line of the table: shares of rejections, and the default's median effective sample size."""
    shares = (outcomes[:, :, 0] <= LEVEL).mean(axis=0)
    size = np.median(outcomes[:, 2, 1])
    cells = [*case, str(len(outcomes)), *(f"{share:.2f}" for share in shares), f"{size:.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run all cases, print the table and write it."""
    parser = argparse.ArgumentParser(description="Size and power of the goodness-of-fit test.")
    parser.add_argument("--repetitions", type=int, default=300, help="of the exact rows; the others take a third")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    header = ["target", "sample", "repetitions", "score", "score, IMQ kernel", *SURROGATES, "effective size, default"]
    lines = [
        f"`python benchmarks/fit_test.py --repetitions {arguments.repetitions}`, {date.today()}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}. Shares of rejections at level {LEVEL}, "
        f"n = {NUM_POINTS}.\n",
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(header)}",
    ]
    print("\n".join(lines), flush=True)
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        for case in CASES:
            count = arguments.repetitions if case[1] == "exact" else max(1, arguments.repetitions // 3)
            outcomes = np.array(list(pool.map(partial(one_repetition, case), range(count), chunksize=5)))
            lines.append(row(case, outcomes))
            print(lines[-1], flush=True)
    print(f"{time.perf_counter() - start:.0f} s")
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
