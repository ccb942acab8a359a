"""Neal's funnel: a scale that varies by orders of magnitude."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, RNGLike


@dataclass(frozen=True)
class Funnel:
    r"""Neal's funnel: :math:`v \sim N(0, 9)`, and given it all other coordinates are :math:`N(0, e^v)`.

    The first coordinate is v.

    Examples
    --------
    >>> Funnel(dimension=3).cov.diagonal().round(1)
    array([ 9., 90., 90.])
    """

    dimension: int = 10

    def __post_init__(self) -> None:
        if self.dimension < 2:
            raise ValueError(f"Funnel expects at least two dimensions, got {self.dimension}")

    @property
    def mean(self) -> Array:
        """The exact mean."""
        return np.zeros(self.dimension)

    @property
    def cov(self) -> Array:
        """The exact covariance."""
        return np.diag([9.0, *[np.exp(4.5)] * (self.dimension - 1)])

    def log_prob(self, points: Array) -> Array:
        """Normalized log-density at the rows of ``points``."""
        v, others = points[:, 0], self.dimension - 1
        squares = (points[:, 1:] ** 2).sum(axis=1)
        constant = 0.5 * self.dimension * np.log(2 * np.pi) + np.log(3)
        return np.asarray(-(v**2) / 18 - 0.5 * others * v - 0.5 * squares * np.exp(-v) - constant)

    def score(self, points: Array) -> Array:
        """Its gradient at the rows of ``points``."""
        v, precision = points[:, 0], np.exp(-points[:, 0])
        squares = (points[:, 1:] ** 2).sum(axis=1)
        of_v = -v / 9 - 0.5 * (self.dimension - 1) + 0.5 * squares * precision
        return np.column_stack([of_v, -points[:, 1:] * precision[:, None]])

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, d)."""
        rng = np.random.default_rng(rng)
        v = 3 * rng.standard_normal(num_points)
        others = np.exp(0.5 * v)[:, None] * rng.standard_normal((num_points, self.dimension - 1))
        return np.column_stack([v, others])
