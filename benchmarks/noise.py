r"""What smoothing is worth when log p is an estimate: MMD to exact draws with noise that is declared and that is not.

Normal noise is added to every value of log p; 100 particles, 10,000 evaluations. ``AnnealedGFSVGD``
without ``noise=`` takes the values as they are; ``noise=sd`` is the standard deviation of the noise, and
``noise=True`` estimates it.

Run ``python benchmarks/noise.py``.
"""

from __future__ import annotations

import argparse
import platform
from datetime import date
from pathlib import Path

import numpy as np

import steinbox as sb

RESULTS = Path(__file__).parent / "results" / "noise.md"
PROBLEMS = {
    "Gaussian, 2-D": (sb.paper.targets.paper_gaussian(), sb.Gaussian([0, 0], std=3)),
    "banana, 2-D": (sb.targets.Banana(), sb.Gaussian([0, 0], std=3)),
    "four-component mixture, 10-D": (
        sb.paper.targets.paper_gmm(dimension=10, num_components=4),
        sb.Gaussian(np.zeros(10), std=2),
    ),
}


def distance(name: str, sd: float, noise: float | bool | None, seed: int) -> float:
    """MMD of one run to 5,000 exact draws."""
    target, initial = PROBLEMS[name]

    def log_prob(x: np.ndarray, rng: list[np.random.Generator]) -> np.ndarray:
        return target.log_prob(x) + sd * np.array([each.standard_normal() for each in rng])

    settings = {"method": sb.AnnealedGFSVGD(), "num_particles": 100, "max_evals": 10_000, "vectorized": True}
    result = sb.sample(log_prob, initial, noise=noise, seed=seed, **settings)
    return sb.mmd(result.particles, target.sample(5_000, np.random.default_rng(99)))


def row(name: str, sd: float, num_seeds: int) -> str:
    """A line of the table: mean ± standard deviation over seeds."""
    ways = (None,) if sd == 0 else (None, sd, True)
    values = [np.array([distance(name, sd, noise, seed) for seed in range(num_seeds)]) for noise in ways]
    cells = [f"{each.mean():.3f} ± {each.std(ddof=1):.3f}" for each in values] + ["–"] * (3 - len(ways))
    return f"| {name} | {sd:g} | {' | '.join(cells)} |"


def main() -> None:
    """Run everything, print it and write it."""
    parser = argparse.ArgumentParser(description="MMD with noise that is declared, and that is not.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = [
        f"`python benchmarks/noise.py --seeds {arguments.seeds}`, {date.today()}; Python {platform.python_version()}, "
        f"NumPy {np.__version__}. MMD, mean ± sd over seeds; 100 exact draws have about 0.075.\n",
        "| problem | sd of log p | without `noise=` | `noise=sd` | `noise=True` |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for name in PROBLEMS:
        for sd in (0.0, 0.5, 2.0):
            lines.append(row(name, sd, arguments.seeds))
            print(lines[-1], flush=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
