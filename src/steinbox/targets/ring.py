"""A ring in two dimensions: no mass in the middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from steinbox.common.arrays import Array, RNGLike


@dataclass(frozen=True)
class Ring:
    r"""The density proportional to :math:`\exp(-(\|x\| - R)^2 / 2\sigma^2)` in the plane.

    The radius has density proportional to :math:`r\, e^{-(r - R)^2 / 2\sigma^2}`, whose moments
    :math:`m_k = \int_0^\infty r^k e^{-(r - R)^2 / 2\sigma^2} dr` follow from
    :math:`m_k = R\, m_{k-1} + (k - 1) \sigma^2 m_{k-2}`.

    Parameters
    ----------
    radius : float
        The R.
    width : float
        The :math:`\sigma`.

    Examples
    --------
    >>> Ring(radius=3.0, width=0.3).cov.round(3)
    array([[4.635, 0.   ],
           [0.   , 4.635]])
    """

    radius: float = 3.0
    width: float = 0.3
    dimension: int = 2

    def __post_init__(self) -> None:
        if not (self.radius > 0 and self.width > 0 and self.dimension == 2):
            raise ValueError(f"Ring expects a positive radius and width, and lives in two dimensions, got {self}")

    @property
    def mean(self) -> Array:
        """The exact mean."""
        return np.zeros(2)

    @property
    def cov(self) -> Array:
        """The exact covariance."""
        _, first, _, third = self._radial_moments()
        return 0.5 * third / first * np.eye(2)

    def log_prob(self, points: Array) -> Array:
        """Normalized log-density at the rows of ``points``."""
        radii = np.hypot(points[:, 0], points[:, 1])
        return np.asarray(
            -0.5 * ((radii - self.radius) / self.width) ** 2 - np.log(2 * np.pi * self._radial_moments()[1])
        )

    def score(self, points: Array) -> Array:
        """Its gradient at the rows of ``points``; zero at the origin, where there is none."""
        radii = np.hypot(points[:, 0], points[:, 1])[:, None]
        slope = -(radii - self.radius) / self.width**2
        return np.asarray(slope * np.divide(points, radii, out=np.zeros_like(points), where=radii > 0))

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, 2): radii by rejection from a normal twice as wide in variance."""
        rng = np.random.default_rng(rng)
        largest = 0.5 * (self.radius + np.sqrt(self.radius**2 + 8 * self.width**2))  # where the ratio is
        bound, radii = self._ratio(np.array([largest])), np.empty(0)
        while len(radii) < num_points:
            proposed = self.radius + np.sqrt(2) * self.width * rng.standard_normal(2 * num_points)
            accepted = rng.random(2 * num_points) * bound < self._ratio(proposed)
            radii = np.concatenate([radii, proposed[accepted]])
        angles = rng.uniform(0, 2 * np.pi, size=num_points)
        return np.asarray(radii[:num_points, None] * np.column_stack([np.cos(angles), np.sin(angles)]))

    def _ratio(self, radii: Array) -> Array:
        """The radius's density over that of the proposal, up to a constant."""
        return np.maximum(radii, 0.0) * np.exp(-0.25 * ((radii - self.radius) / self.width) ** 2)

    def _radial_moments(self) -> tuple[float, float, float, float]:
        ratio = self.radius / self.width
        zeroth = np.sqrt(2 * np.pi) * self.width * ndtr(ratio)
        first = self.radius * zeroth + self.width**2 * np.exp(-0.5 * ratio**2)
        second = self.radius * first + self.width**2 * zeroth
        third = self.radius * second + 2 * self.width**2 * first
        return float(zeroth), float(first), float(second), float(third)
