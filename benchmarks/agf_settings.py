"""What each default of ``sb.AnnealedGFSVGD()`` is worth: one setting changed at a time, log10 MMD² to exact draws.

Run ``python benchmarks/agf_settings.py [--seeds 3]``. Every problem has 200 particles; the distance is measured in
units of the target's standard deviations, to 5,000 exact draws, whose own noise is about −3.9. "scaled5" is a Gaussian
whose five coordinates have standard deviations from 0.003 to 30, ten times smaller than the initial ones;
"modes10" has two components 8 apart with weights 0.7 and 0.3.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import steinbox as sb
from steinbox.numerics.optimizers import Adam, CosineDecay

OUTPUT = Path(__file__).parent / "results" / "agf_settings.md"
SCALES = 10.0 ** np.arange(-2, 3)
OFFSET = np.r_[4.0, np.zeros(9)]
MODES = sb.GaussianMixture([sb.Gaussian(OFFSET, std=1.0), sb.Gaussian(-OFFSET, std=1.0)], [0.7, 0.3])

PROBLEMS: dict[str, tuple[Any, sb.Gaussian, int]] = {
    "gauss2": (sb.paper.targets.paper_gaussian(), sb.Gaussian(np.zeros(2), std=3.0), 20_000),
    "gmm25": (sb.paper.targets.paper_gmm(seed=0), sb.Gaussian(np.zeros(25), std=2.0), 20_000),
    "banana2": (sb.targets.Banana(), sb.Gaussian(np.zeros(2), std=3.0), 20_000),
    "modes10": (MODES, sb.Gaussian(np.zeros(10), std=3.0), 20_000),
    "scaled5": (sb.Gaussian(SCALES, std=0.3 * SCALES), sb.Gaussian(np.zeros(5), std=3 * SCALES), 20_000),
}


def adam(learning_rate: float = 0.2, **settings: Any) -> Adam:
    """The default optimiser with something changed."""
    return Adam(learning_rate, **({"memory": 0.99, "decay": CosineDecay(start=0.5)} | settings))


def history(num_history: int) -> sb.AnnealedGFSVGD:
    """The default method with another length of the interpolant's history."""
    return sb.AnnealedGFSVGD(surrogate=sb.surrogates.Interpolant(num_history=num_history))


SETTINGS: dict[str, sb.GFSVGD] = {
    "defaults": sb.AnnealedGFSVGD(),
    "learning rate 0.1": sb.AnnealedGFSVGD(optimizer=adam(0.1)),
    "learning rate 0.4": sb.AnnealedGFSVGD(optimizer=adam(0.4)),
    "Adam's memory 0.999": sb.AnnealedGFSVGD(optimizer=adam(memory=0.999)),
    "no decay of the rate": sb.AnnealedGFSVGD(optimizer=Adam(0.2, memory=0.99)),
    "normalised per particle": sb.AnnealedGFSVGD(optimizer=adam(normalization="particle")),
    "normalised over all": sb.AnnealedGFSVGD(optimizer=adam(normalization="shared")),
    "bandwidth 0.5 med²": sb.AnnealedGFSVGD(bandwidth=sb.bandwidth.Median(0.5)),
    "bandwidth 2 med²": sb.AnnealedGFSVGD(bandwidth=sb.bandwidth.Median(2.0)),
    "paper's bandwidth": sb.AnnealedGFSVGD(bandwidth="paper"),
    "IMQ kernel": sb.AnnealedGFSVGD(kernel=sb.kernels.IMQ()),
    "plain coordinates": sb.AnnealedGFSVGD(coordinates=sb.coordinates.Plain()),
    "standardized coordinates": sb.AnnealedGFSVGD(coordinates=sb.coordinates.Standardized()),
    "no history": history(0),
    "history of 3": history(3),
    "linear schedule": sb.AnnealedGFSVGD(schedule=sb.Schedule(power=1.0)),
    "no annealing": sb.GFSVGD(),
}


def scores(method: sb.GFSVGD, problem: str, num_seeds: int) -> Iterator[float]:
    """log10 MMD² of every seed."""
    target, initial, max_evals = PROBLEMS[problem]
    unit = np.sqrt(np.diag(target.cov))
    reference = target.sample(5_000, np.random.default_rng(99)) / unit
    for seed in range(num_seeds):
        result = sb.sample(target.log_prob, initial, method=method, max_evals=max_evals, vectorized=True, seed=seed)
        yield 2 * np.log10(sb.mmd(result.particles / unit, reference))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    num_seeds = parser.parse_args().seeds
    lines = [f"| setting | {' | '.join(PROBLEMS)} |", "|---" * (len(PROBLEMS) + 1) + "|"]
    for name, method in SETTINGS.items():
        cells = [f"{np.mean(list(scores(method, problem, num_seeds))):.2f}" for problem in PROBLEMS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    OUTPUT.parent.mkdir(exist_ok=True)
    heading = f"`python benchmarks/agf_settings.py --seeds {num_seeds}`, steinbox {sb.__version__}, 20,000 evaluations"
    OUTPUT.write_text("\n".join([heading, "", *lines, ""]))


if __name__ == "__main__":
    main()
