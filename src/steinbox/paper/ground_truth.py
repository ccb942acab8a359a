r"""Long Metropolis chains on a density that cannot be drawn from: the ground truth of Figure 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.initial import Initial
from steinbox.paper.targets import GPClassification
from steinbox.run.loop import Iteration
from steinbox.sample import sample
from steinbox.samplers.adaptive import AdaptiveImportanceSampling
from steinbox.samplers.markov.chains import MarkovChains

_NUM_DRAWS = 5000  # kept as the ground truth
_START_SPREAD = 1.5  # of the chains' starts, in units of the mixture's own spread
_MAX_ROUNDS = 12  # of ``num_steps`` each
_NUM_SCALE_DRAWS = 2000  # of the mixture, for the scale of the random walk
_OPTIMAL_STEP = 2.38  # over the root of the dimension (Roberts, Gelman & Gilks, 1997)


@serializable("random-walk-with-independent-draws")
@dataclass(frozen=True, eq=False)
class MixedProposal:
    """A random walk and, every other step, independent draws of a mixture; both leave the target invariant.

    The mixture was fitted by another run; where it is wrong its draws are rejected, and only the random walk moves.
    """

    mixture: Initial
    root: Array
    is_jump: bool = False

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        if self.is_jump:
            proposed = self.mixture.sample(len(points), rng)
            return proposed, self.mixture.log_prob(points) - self.mixture.log_prob(proposed)
        return points + rng.standard_normal(points.shape) @ self.root.T, np.zeros(len(points))

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> MixedProposal:
        """Alternate between the two; nothing is learned."""
        return MixedProposal(self.mixture, self.root, is_jump=not self.is_jump)


@dataclass(frozen=True, kw_only=True)
class GroundTruthChains(MarkovChains):
    """Metropolis-Hastings with :class:`MixedProposal`."""

    mixture: Initial
    adaptation: float = 1.0

    def first_proposal(self, particles: Array) -> MixedProposal:
        draws = self.mixture.sample(_NUM_SCALE_DRAWS, np.random.default_rng(0))
        return MixedProposal(self.mixture, _OPTIMAL_STEP / np.sqrt(draws.shape[1]) * Gaussian.fit(draws).root)


def ground_truth(
    target: GPClassification,
    initial: Gaussian,
    *,
    num_evals: int,
    num_chains: int,
    num_steps: int,
    max_r_hat: float,
    num_jobs: int,
) -> tuple[Array, float]:
    """Draws of the chains after their burn-in, and the largest split R-hat of all coordinates.

    The chains start at draws of the mixture, spread by half again about their mean: wider than the target, but not on
    the plateau far away, where all length-scales are small and a chain finds no way down for thousands of steps. They
    continue, ``num_steps`` at a time, until R-hat is small enough.
    """
    common: dict[str, Any] = {
        "vectorized": True,
        "executor": num_jobs if num_jobs > 1 else None,
        "progress": False,
    }
    first = sample(
        target.log_prob, initial, method=AdaptiveImportanceSampling(), max_evals=num_evals, seed=1000, **common
    )
    if first.mixture is None:
        raise RuntimeError(f"expected enough evaluations to fit a mixture for the ground truth, got {num_evals}")
    start = first.mixture.sample(num_chains, np.random.default_rng(1001))
    visited = [start.mean(axis=0) + _START_SPREAD * (start - start.mean(axis=0))]
    method = GroundTruthChains(mixture=first.mixture, num_iterations=num_steps)
    for number in range(_MAX_ROUNDS):
        visited += _run_chains(target, visited[-1], method, seed=1002 + number, common=common)
        chains = np.array(visited[len(visited) // 3 :]).swapaxes(0, 1)
        if r_hat(chains) <= max_r_hat:
            break
    else:
        raise ValueError(
            "the chains of the ground truth have not converged: "
            f"expected R-hat of at most {max_r_hat:g}, got {r_hat(chains):.3f}"
        )
    draws = chains.reshape(-1, chains.shape[2])
    chosen = np.random.default_rng(1001).choice(len(draws), size=min(_NUM_DRAWS, len(draws)), replace=False)
    return draws[chosen], r_hat(chains)


def _run_chains(
    target: GPClassification, start: Array, method: GroundTruthChains, seed: int, common: dict[str, Any]
) -> list[Array]:
    """The positions of the chains after each step."""
    visited: list[Array] = []

    def keep(iteration: Iteration) -> None:
        visited.append(iteration.particles)

    sample(target.log_prob, start, method=method, seed=seed, callback=keep, **common)
    return visited[1:]


def r_hat(chains: Array) -> float:
    r"""The largest split :math:`\hat R` of all coordinates (Gelman et al., 2013), chains (m, n, d).

    Examples
    --------
    >>> import numpy as np
    >>> same = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> r_hat(same) < 1.01 < r_hat(same + np.arange(4)[:, None, None])
    True
    """
    half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return float(np.sqrt((1 - 1 / half) + between / within).max())
