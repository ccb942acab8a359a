"""steinbox's own methods. ``svgd`` and ``annealed_svgd`` use gradients, which nobody else does."""

from __future__ import annotations

import numpy as np
from counting import Counted
from measures import NUM_POINTS
from peers.points import resampled

import steinbox as sb

METHODS = {
    "default": None,
    "annealed_gf_svgd": sb.AnnealedGFSVGD(),
    "gf_svgd": sb.GFSVGD(),
    "annealed_svgd": sb.AnnealedSVGD(),
    "svgd": sb.SVGD(),
    "smc": sb.baselines.SMC(),
    "adaptive_metropolis": sb.baselines.AdaptiveMetropolis(),
    "importance": sb.baselines.ImportanceSampling(),
    "gf_ais": sb.baselines.GFAIS(),
    "kamh": sb.baselines.KAMH(),
    "khmc": sb.baselines.KHMC(),
}


def is_possible(name: str, has_score: bool) -> bool:
    """Whether the method has what it needs."""
    return has_score or not getattr(METHODS[name], "needs_score", False)


def run(name: str, log_prob: Counted, seed: int) -> tuple[np.ndarray, int]:
    """Equally weighted points, and the number of warnings."""
    result = sample(METHODS[name], log_prob, seed)
    return resampled(result.particles, result.weights, seed), len(result.warnings)


def sample(method: sb.Sampler | None, log_prob: Counted, seed: int) -> sb.Result:
    """The result of one method."""
    problem = log_prob.problem
    return sb.sample(
        log_prob,
        problem.initial,
        method=method,
        num_particles=NUM_POINTS,
        max_evals=log_prob.budget,
        vectorized=True,
        score=problem.score,
        noise=True if problem.noise else None,
        progress=False,
        seed=seed,
    )
