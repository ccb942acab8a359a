"""How accurate the default gradient-free method is: log10 MMD² to exact draws, over seeds.

Run ``python benchmarks/agf_accuracy.py [--seeds 5]``. Problems as in Han & Liu (2018): N(0, 2I) in 2-D from N(0, 9I) at
20,000 evaluations, and the 25-D mixture of ten Gaussians from N(0, 4I) at 40,000; a banana beside them. The rows are
the defaults of ``sb.AnnealedGFSVGD()``, the same with the paper's kernel curve and settings, and 200 exact draws.
The reference is 10,000 exact draws; the kernel exp(−‖x − y‖²/med²) has its median from them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import steinbox as sb

NUM_PARTICLES = 200
OUTPUT = Path(__file__).parent / "results" / "agf_accuracy.md"

PROBLEMS: dict[str, tuple[Any, sb.Gaussian, int]] = {
    "gauss2": (sb.paper.targets.paper_gaussian(), sb.Gaussian(np.zeros(2), std=3.0), 20_000),
    "gmm25": (sb.paper.targets.paper_gmm(seed=0), sb.Gaussian(np.zeros(25), std=2.0), 40_000),
    "banana2": (sb.targets.Banana(), sb.Gaussian(np.zeros(2), std=3.0), 20_000),
}

PAPER = sb.AnnealedGFSVGD(
    surrogate=sb.surrogates.KernelCurve(bandwidth="paper"),
    schedule=sb.Schedule(fraction=1.0, power=1.0),
    bandwidth="paper",
    optimizer=sb.optimizers.Adam(0.1),
    coordinates=sb.coordinates.Plain(),
)


def sampled(method: sb.AnnealedGFSVGD) -> Callable[..., np.ndarray]:
    """Particles of a method, as a function of problem and seed."""

    def draw(target: Any, initial: sb.Gaussian, max_evals: int, seed: int) -> np.ndarray:
        result = sb.sample(
            target.log_prob,
            initial,
            method=method,
            num_particles=NUM_PARTICLES,
            max_evals=max_evals,
            vectorized=True,
            seed=seed,
        )
        return result.particles

    return draw


def exact(target: Any, initial: sb.Gaussian, max_evals: int, seed: int) -> np.ndarray:
    """As many exact draws as there are particles."""
    return np.asarray(target.sample(NUM_PARTICLES, np.random.default_rng(1000 + seed)))


METHODS = {
    "AnnealedGFSVGD()": sampled(sb.AnnealedGFSVGD()),
    "paper's kernel curve": sampled(PAPER),
    "exact draws": exact,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    num_seeds = parser.parse_args().seeds
    lines = ["| problem | evaluations | method | log10 MMD², mean ± sd |", "|---|---|---|---|"]
    for problem, (target, initial, max_evals) in PROBLEMS.items():
        reference = target.sample(10_000, np.random.default_rng(99))
        for name, draw in METHODS.items():
            particles = [draw(target, initial, max_evals, seed) for seed in range(num_seeds)]
            scores = [2 * np.log10(sb.mmd(x, reference)) for x in particles]
            evaluations = "" if draw is exact else f"{max_evals:,}"
            lines.append(f"| {problem} | {evaluations} | {name} | {np.mean(scores):.2f} ± {np.std(scores):.2f} |")
            print(lines[-1], flush=True)
    OUTPUT.parent.mkdir(exist_ok=True)
    heading = f"`python benchmarks/agf_accuracy.py --seeds {num_seeds}`, steinbox {sb.__version__}, 200 particles"
    OUTPUT.write_text("\n".join([heading, "", *lines, ""]))
    print(f"wrote {OUTPUT.relative_to(Path.cwd()) if OUTPUT.is_relative_to(Path.cwd()) else OUTPUT}")


if __name__ == "__main__":
    main()
