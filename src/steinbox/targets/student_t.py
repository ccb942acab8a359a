"""The multivariate Student t: heavy tails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from steinbox.common.arrays import Array, RNGLike


@dataclass(frozen=True)
class StudentT:
    r"""The multivariate t with density proportional to :math:`(1 + \|x\|^2 / \nu)^{-(\nu + d)/2}`.

    Parameters
    ----------
    dimension : int
    dof : float
        The :math:`\nu`, above 2, so that the covariance :math:`\tfrac{\nu}{\nu - 2} I` exists.

    Examples
    --------
    >>> StudentT(dimension=2, dof=4.0).cov
    array([[2., 0.],
           [0., 2.]])
    """

    dimension: int = 2
    dof: float = 5.0

    def __post_init__(self) -> None:
        if self.dimension < 1 or not self.dof > 2:
            raise ValueError(f"StudentT expects a dimension of at least 1 and dof above 2, got {self}")

    @property
    def mean(self) -> Array:
        """The exact mean."""
        return np.zeros(self.dimension)

    @property
    def cov(self) -> Array:
        """The exact covariance."""
        return self.dof / (self.dof - 2) * np.eye(self.dimension)

    def log_prob(self, points: Array) -> Array:
        """Normalized log-density at the rows of ``points``."""
        half = 0.5 * (self.dof + self.dimension)
        constant = gammaln(half) - gammaln(0.5 * self.dof) - 0.5 * self.dimension * np.log(np.pi * self.dof)
        return np.asarray(constant - half * np.log1p((points**2).sum(axis=1) / self.dof))

    def score(self, points: Array) -> Array:
        """Its gradient at the rows of ``points``."""
        return np.asarray(-(self.dof + self.dimension) * points / (self.dof + (points**2).sum(axis=1, keepdims=True)))

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, d)."""
        rng = np.random.default_rng(rng)
        scales = np.sqrt(self.dof / rng.chisquare(self.dof, size=num_points))
        return np.asarray(scales[:, None] * rng.standard_normal((num_points, self.dimension)))
