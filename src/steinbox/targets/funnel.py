"""Neal's funnel: a scale that varies by orders of magnitude."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array


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

    def log_prob(self, x: Array) -> Array:
        """Normalized log-density at the rows of ``x``."""
        v, others = x[:, 0], self.dimension - 1
        squares = (x[:, 1:] ** 2).sum(axis=1)
        constant = 0.5 * self.dimension * np.log(2 * np.pi) + np.log(3)
        return np.asarray(-(v**2) / 18 - 0.5 * others * v - 0.5 * squares * np.exp(-v) - constant)

    def score(self, x: Array) -> Array:
        """Its gradient at the rows of ``x``."""
        v, precision = x[:, 0], np.exp(-x[:, 0])
        squares = (x[:, 1:] ** 2).sum(axis=1)
        of_v = -v / 9 - 0.5 * (self.dimension - 1) + 0.5 * squares * precision
        return np.column_stack([of_v, -x[:, 1:] * precision[:, None]])

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Independent draws, (num_points, d)."""
        v = 3 * rng.standard_normal(num_points)
        others = np.exp(0.5 * v)[:, None] * rng.standard_normal((num_points, self.dimension - 1))
        return np.column_stack([v, others])
