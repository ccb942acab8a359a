"""The default where there are many dimensions: heavy tails, correlations, skewness and curves.

MMD to 5,000 exact draws of 200 points, from N(0, 9 I), as in ``run.py``, with the number of warnings: of the default,
of the default whose mixtures have no shells, of steinbox's tempered SMC and of its KHMC chains.

The targets called fresh were not developed on.

Run ``python benchmarks/accuracy/many_dimensions.py``; it takes about fifteen minutes.
"""

from __future__ import annotations

import run  # noqa: F401  # first: it sets the number of threads

# isort: split
import argparse
import platform
import time
import warnings
from datetime import date

import numpy as np
import ours
from extra_targets import Copies, LogGamma
from report import short, write

import steinbox as sb


class Gumbel:
    """Independent Gumbel variables of different scales and places: skew to the right."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.places, self.scales = np.linspace(-2, 2, dimension), np.geomspace(0.3, 2, dimension)

    def log_prob(self, x: np.ndarray) -> np.ndarray:
        z = (x - self.places) / self.scales
        with np.errstate(over="ignore"):
            return -(z + np.exp(-z)).sum(axis=1)

    def sample(self, num_points: int, rng: np.random.Generator) -> np.ndarray:
        return rng.gumbel(self.places, self.scales, size=(num_points, self.dimension))


def field(rows: int, columns: int) -> sb.Gaussian:
    """A Gaussian field on a grid: every site is near the mean of its neighbors."""
    sites = np.arange(rows * columns).reshape(rows, columns)
    precision = 0.1 * np.eye(sites.size)
    for first, second in [(sites[1:], sites[:-1]), (sites[:, 1:], sites[:, :-1])]:
        for a, b in zip(first.ravel(), second.ravel(), strict=True):
            precision[[a, b], [a, b]] += 1.0
            precision[[a, b], [b, a]] -= 1.0
    covariance = np.linalg.inv(precision)
    return sb.Gaussian(np.sin(np.arange(sites.size)), cov=(covariance + covariance.T) / 2)


def two_gaussians(dimension: int) -> sb.GaussianMixture:
    """Of different widths, six standard deviations apart."""
    offset = np.full(dimension, 3 / np.sqrt(dimension))
    return sb.GaussianMixture([sb.Gaussian(offset, std=1.0), sb.Gaussian(-offset, std=0.8)], weights=[0.6, 0.4])


TARGETS = {
    "Student t, 30-D": sb.targets.StudentT(30),
    "Student t, 60-D": sb.targets.StudentT(60),
    "Student t, 100-D": sb.targets.StudentT(100),
    "AR(1), 100-D": sb.targets.autoregressive(100),
    "AR(1), 200-D": sb.targets.autoregressive(200),
    "skew, 100-D": LogGamma(100),
    "fifty bananas, 100-D": Copies(50),
    "field, 120-D (fresh)": field(10, 12),
    "Gumbel, 100-D (fresh)": Gumbel(100),
    "two Gaussians, 100-D (fresh)": two_gaussians(100),
}
WITHOUT_SHELLS = "default without shells"
VARIANTS = {WITHOUT_SHELLS: sb.AdaptiveImportanceSampling(family=sb.CurvedMixtures(shells=False))}
METHODS = ("default", WITHOUT_SHELLS, "smc", "khmc")


def cell(target: sb.targets.StudentT, method: str, budget: int, seed: int) -> str:
    """MMD, the number of warnings, seconds."""
    exact = target.sample(5_000, np.random.default_rng(1))
    start = time.process_time()
    result = sb.sample(
        target.log_prob,
        sb.Gaussian(np.zeros(target.dimension), std=3.0),
        method=VARIANTS.get(method) or ours.METHODS[method],
        num_particles=200,
        max_evals=budget,
        vectorized=True,
        progress=False,
        seed=seed,
    )
    return f"{short(sb.mmd(result.particles, exact))}, {len(result.warnings)}, {time.process_time() - start:.0f} s"


def floor(target: sb.targets.StudentT) -> str:
    """What 200 exact draws have."""
    exact = target.sample(5_000, np.random.default_rng(1))
    return short(sb.mmd(target.sample(200, np.random.default_rng(2)), exact))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", nargs="+", type=int, default=[5_000, 20_000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="TARGET")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/accuracy/many_dimensions.py`, {date.today()}, Python {platform.python_version()}; "
        "MMD, number of warnings, seconds of the processor. One seed.",
        "",
        f"| target | evaluations | exact | {' | '.join(arguments.methods)} |",
        f"|---|---|---|{'---|' * len(arguments.methods)}",
    ]
    for name in arguments.targets:
        target = TARGETS[name]
        for budget in arguments.budgets:
            cells = [cell(target, method, budget, arguments.seed) for method in arguments.methods]
            lines.append(f"| {name} | {budget:,} | {floor(target)} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if arguments.targets == list(TARGETS):
        write("many_dimensions", lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
