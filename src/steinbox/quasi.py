"""Quasi-random draws: points of a mixture that fill it more evenly than independent ones."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from steinbox.mixtures import GaussianMixture
from steinbox.types import Array
from steinbox.weights import systematic_resample


def quasi_random(mixture: GaussianMixture, num_points: int, rng: np.random.Generator) -> Array:
    """Scrambled Sobol points turned into draws: each component gets its share of them, and a sequence of its own.

    Each draw by itself has the mixture's distribution (Owen, 1997), so that importance weights stay valid.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox import Gaussian
    >>> mixture = GaussianMixture([Gaussian([0.0, 0.0], std=1.0)])
    >>> bool(np.abs(quasi_random(mixture, 256, np.random.default_rng(0)).mean(axis=0)).max() < 0.01)
    True
    """
    labels = systematic_resample(mixture.weights, num_points, rng)
    counts = np.bincount(labels, minlength=len(mixture.components))
    draws = [
        component.mean + _normal(int(count), component.dimension, rng) @ component.root.T
        for component, count in zip(mixture.components, counts, strict=True)
        if count
    ]
    return np.concatenate(draws)


def _normal(num_points: int, dimension: int, rng: np.random.Generator) -> Array:
    from scipy.stats import qmc  # heavy: loaded when it is first used

    seed = int(rng.integers(2**63))  # a generator would be spawned from, which its state does not remember
    sobol = qmc.Sobol(dimension, scramble=True, rng=seed)
    uniform = sobol.random_base2(int(np.ceil(np.log2(max(num_points, 2)))))[:num_points]
    return np.asarray(ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)))
