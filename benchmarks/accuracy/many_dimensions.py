"""The default where there are many dimensions: heavy tails, correlations, skewness and curves.

MMD to 5,000 exact draws of 200 points, from N(0, 9 I), as in ``run.py``, with the number of warnings: of the default,
of the default whose mixtures have no shells, of steinbox's tempered SMC and of its KHMC chains.

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

TARGETS = {
    "Student t, 30-D": sb.targets.StudentT(30),
    "Student t, 60-D": sb.targets.StudentT(60),
    "Student t, 100-D": sb.targets.StudentT(100),
    "AR(1), 100-D": sb.targets.autoregressive(100),
    "AR(1), 200-D": sb.targets.autoregressive(200),
    "skew, 100-D": LogGamma(100),
    "fifty bananas, 100-D": Copies(50),
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
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/accuracy/many_dimensions.py`, {date.today()}, Python {platform.python_version()}; "
        "MMD, number of warnings, seconds of the processor. One seed.",
        "",
        f"| target | evaluations | exact | {' | '.join(METHODS)} |",
        f"|---|---|---|{'---|' * len(METHODS)}",
    ]
    for name, target in TARGETS.items():
        for budget in arguments.budgets:
            cells = [cell(target, method, budget, arguments.seed) for method in METHODS]
            lines.append(f"| {name} | {budget:,} | {floor(target)} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    write("many_dimensions", lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
