"""A curved valley in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, RNGLike


@dataclass(frozen=True)
class Banana:
    r"""The banana :math:`x_1 \sim N(0, 4)`, :math:`x_2 \mid x_1 \sim N((x_1^2 - 4) / 2, 1/4)`.

    Its mean is the origin, its covariance ``diag(4, 8.25)``.

    Examples
    --------
    >>> import numpy as np
    >>> Banana().sample(100_000, np.random.default_rng(0)).var(axis=0).round(1)
    array([4. , 8.3])
    """

    dimension: int = 2

    @property
    def mean(self) -> Array:
        """The exact mean."""
        return np.zeros(2)

    @property
    def cov(self) -> Array:
        """The exact covariance."""
        return np.diag([4.0, 8.25])

    def log_prob(self, points: Array) -> Array:
        """Normalized log-density at the rows of ``points``."""
        offset = points[:, 1] - (points[:, 0] ** 2 - 4) / 2
        return np.asarray(-(points[:, 0] ** 2) / 8 - 2 * offset**2 - np.log(2 * np.pi))

    def score(self, points: Array) -> Array:
        """Its gradient at the rows of ``points``."""
        offset = points[:, 1] - (points[:, 0] ** 2 - 4) / 2
        return np.column_stack([-points[:, 0] / 4 + 4 * offset * points[:, 0], -4 * offset])

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, 2)."""
        rng = np.random.default_rng(rng)
        first = 2 * rng.standard_normal(num_points)
        second = (first**2 - 4) / 2 + 0.5 * rng.standard_normal(num_points)
        return np.column_stack([first, second])
