"""Differential evolution: chains that step along differences of where they have been."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.samplers.markov.chains import MarkovChains, Proposal

MAX_REMEMBERED = 5000  # past states
STRETCH = 2.0  # the a of Goodman & Weare (2010): stretches are between 1/a and a


@serializable("differential-evolution")
@dataclass(frozen=True, eq=False)
class PastDifferences:
    r"""Half of the proposals are :math:`x + \gamma (z_1 - z_2)`, half stretch x away from or towards a :math:`z`.

    All :math:`z` are past states of the chains. Steps take the shape and scale of the target by themselves; the
    stretch :math:`z + \zeta (x - z)` has the correction :math:`\zeta^{d-1}` (Goodman & Weare, 2010), and one step in
    ten has :math:`\gamma = 1`, which leads from mode to mode (ter Braak & Vrugt, 2008).
    """

    past: Array

    def draw(self, points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        num_points, dimension = points.shape
        first, second = self.past[rng.integers(len(self.past), size=(2, num_points))]
        usual = rng.choice([0.3, 0.6, 1.0], size=(num_points, 1)) * 2.38 / np.sqrt(2 * dimension)
        scale = np.where(rng.random((num_points, 1)) < 0.1, 1.0, usual)
        jitter = 1e-4 * self.past.std(axis=0) * rng.standard_normal(points.shape)
        evolved = points + scale * (first - second) + jitter
        low, high = 1 / np.sqrt(STRETCH), np.sqrt(STRETCH)
        stretch = rng.uniform(low, high, size=(num_points, 1)) ** 2
        stretches = rng.random((num_points, 1)) < 0.5
        proposed = np.where(stretches, first + stretch * (points - first), evolved)
        correction = np.where(stretches, (dimension - 1) * np.log(stretch), 0.0)
        return np.asarray(proposed), np.asarray(correction[:, 0])

    def learn(self, points: Array, acceptance: float, step: int, rng: np.random.Generator) -> PastDifferences:
        return replace(self, past=np.concatenate([self.past, points])[-MAX_REMEMBERED:])


@dataclass(frozen=True, kw_only=True)
class DifferentialEvolution(MarkovChains):
    """Chains that step along differences of their past states (DE-MCz; ter Braak & Vrugt, 2008), and stretch.

    It needs no tuning and is at home with curved and oddly scaled targets; with few steps it remembers its start.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * np.sum(x**2), sb.Gaussian([3.0], std=1.0), num_particles=100, seed=0,
    ...                    method=sb.baselines.DifferentialEvolution(num_iterations=100))
    >>> bool(abs(result.mean[0]) < 0.3)
    True
    """

    def first_proposal(self, particles: Array) -> Proposal:
        return PastDifferences(particles)
