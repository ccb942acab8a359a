"""A Gaussian surrogate that follows the particles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.gaussian import Covariance, Gaussian


@dataclass(frozen=True)
class FittedGaussian:
    r"""The Gaussian with the particles' mean and ``inflation`` times their covariance.

    The paper finds an over-dispersed :math:`\rho` best (a variance about three times the target's in two dimensions,
    Figure 1). In d dimensions the weights' spread grows with :math:`d (1 - 1/\text{inflation})^2`, so use less there.

    Parameters
    ----------
    covariance : {"full", "diagonal", "isotropic"}
    inflation : float

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> x = target.sample(100, 0)
    >>> surrogate = sb.surrogates.FittedGaussian().build(x, target.log_prob(x), num_current=100)
    >>> surrogate.score(x).shape
    (100, 2)
    """

    covariance: Covariance = "full"
    inflation: float = 1.5
    num_history: int = 0

    def build(self, points: Array, log_target: Array, num_current: int) -> Gaussian:
        inside = np.isfinite(log_target[:num_current])
        gaussian = Gaussian.fit(points[:num_current][inside], covariance=self.covariance)
        return Gaussian(gaussian.mean, cov=self.inflation * gaussian.cov)
