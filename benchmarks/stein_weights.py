"""What weights and blends are worth to the Stein samplers: MMD over that of exact draws.

Run ``python benchmarks/stein_weights.py [--seeds 2] [--evals 10000]``. Problems of ``benchmarks/accuracy`` that have no
noise and at most ten dimensions. The methods with a gradient are run where the target has one.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import steinbox as sb

sys.path.insert(0, str(Path(__file__).parent / "accuracy"))

from problems import PROBLEMS, Problem

OUTPUT = Path(__file__).parent / "results" / "stein_weights.md"
NUM_PARTICLES, MAX_DIMENSION = 100, 10
MAX_RATIO = 30.0  # over that of exact draws: what is farther away counts as this
METHODS = {
    "AGF": sb.AnnealedGFSVGD(),
    "weighted steps": sb.AnnealedGFSVGD(weighted_steps=True),
    "inverse Hessian": sb.AnnealedGFSVGD(weight=sb.weight_fields.InverseHessian()),
    "GF-SVGD": sb.GFSVGD(),
    "GF-SVGD, flat share chosen": sb.GFSVGD(flat_share=None),
    "SVGD": sb.SVGD(),
    "SVGD, flat share chosen": sb.SVGD(flat_share=None),
    "SVGD, β = 1/3": sb.SVGD(exponent=1 / 3),
}


def measure(problem: Problem, method: Any, max_evals: int, seed: int) -> float:
    """The MMD of the particles over that of as many exact draws."""
    exact = problem.sample(5_000, np.random.default_rng(1))
    floors = [sb.mmd(problem.sample(NUM_PARTICLES, np.random.default_rng(10 + k)), exact) for k in range(5)]
    result = sb.sample(
        problem.log_prob,
        problem.initial,
        method=method,
        score=problem.score if method.needs_score else None,
        num_particles=NUM_PARTICLES,
        max_evals=max_evals,
        vectorized=True,
        progress=False,
        seed=seed,
    )
    inside = result.weights > 0
    return min(MAX_RATIO, float(sb.mmd(result.particles[inside], exact)) / float(np.mean(floors)))


def main() -> None:
    """Run all, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evals", type=int, default=10_000)
    parser.add_argument("--problems", nargs="+", default=None)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    chosen = [PROBLEMS[name] for name in arguments.problems or PROBLEMS]
    chosen = [each for each in chosen if each.noise == 0 and each.dimension <= MAX_DIMENSION]
    names = arguments.methods
    which = f" --problems {' '.join(arguments.problems)}" if arguments.problems else ""
    head = [
        f"`python benchmarks/stein_weights.py --seeds {arguments.seeds} --first-seed {arguments.first_seed} "
        f"--evals {arguments.evals}{which}`, steinbox {sb.__version__}; MMD over that of {NUM_PARTICLES} exact draws, "
        f"mean over seeds; {MAX_RATIO:g} or more counts as {MAX_RATIO:g}.",
        "",
    ]
    lines = [f"| problem | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    print("\n".join(lines), flush=True)
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for problem in chosen:
        cells = []
        for name in names:
            if METHODS[name].needs_score and problem.score is None:
                cells.append("–")
                continue
            seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
            mean = np.mean([measure(problem, METHODS[name], arguments.evals, seed) for seed in seeds])
            ratios[name].append(float(mean))
            cells.append(f"{mean:.2f}")
        lines.append(f"| {problem.name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    means = " | ".join(f"{np.exp(np.mean(np.log(ratios[name]))):.2f}" if ratios[name] else "–" for name in names)
    lines.append(f"| geometric mean | {means} |")
    print(lines[-1], flush=True)
    arguments.output.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
