"""What makes a run's particles doubtful, said in plain words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinbox.common.arrays import Array
from steinbox.run.loop import Outcome


def doubts(outcome: Outcome) -> Iterator[str]:
    """One sentence for every reason not to trust the particles."""
    if outcome.reason:
        yield outcome.reason
    if outcome.draws.pool is not None:
        yield from outcome.draws.pool.doubts
    temperature = float(outcome.trace[-1].get("temperature", 1.0))
    if temperature < 1:
        yield (
            f"The run ended at temperature {temperature:.2f}: the particles represent a blend of the initial "
            "distribution and the target."
        )
    num_particles, dimension = outcome.draws.particles.shape
    num_inside = int((outcome.draws.weights > 0).sum())
    if num_inside < 0.9 * num_particles:
        yield f"Only {num_inside} of {num_particles} particles are inside the support of the target."
    if num_particles <= dimension:
        yield f"{num_particles} particles for {dimension} parameters are too few to know directions apart; take more."
    means = np.array([info["mean_log_prob"] for info in outcome.trace], dtype=np.float64)
    if outcome.draws.pool is None and _is_rising(means, outcome.draws.log_prob):
        yield "The mean log-density was still rising at the end: the particles are on their way; pay more evaluations."


def _is_rising(mean_log_prob: Array, log_prob: Array) -> bool:
    """Whether the last fifth of the run raised the mean by more than a fifth of the particles' own spread."""
    fifth = len(mean_log_prob) // 5
    spread = float(log_prob[np.isfinite(log_prob)].std())
    return fifth > 0 and bool(mean_log_prob[-1] - mean_log_prob[-1 - fifth] > 0.2 * spread)
