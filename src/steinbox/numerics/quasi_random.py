"""Quasi-random numbers: points that fill a distribution more evenly than independent draws."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from steinbox.common.arrays import Array


def quasi_random_normal(num_points: int, dimension: int, rng: np.random.Generator) -> Array:
    """Scrambled Sobol points as draws of the standard normal distribution, (num_points, dimension).

    Each by itself has that distribution (Owen, 1997), so that importance weights stay valid.

    Examples
    --------
    >>> import numpy as np
    >>> bool(np.abs(quasi_random_normal(256, 2, np.random.default_rng(0)).mean(axis=0)).max() < 0.01)
    True
    """
    from scipy.stats import qmc  # slow to import: loaded when it is first used

    seed = int(rng.integers(2**63))  # a generator would be spawned from, and its saved state does not count spawns
    sobol = qmc.Sobol(dimension, scramble=True, rng=seed)
    uniform = sobol.random_base2(int(np.ceil(np.log2(max(num_points, 2)))))[:num_points]
    return np.asarray(ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)))
