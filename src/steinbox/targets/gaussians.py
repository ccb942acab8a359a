"""Problems made of Gaussians."""

from __future__ import annotations

import numpy as np

from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture


def autoregressive(dimension: int = 20, correlation: float = 0.95) -> Gaussian:
    r"""A stationary AR(1) series: unit variances, covariances :math:`\phi^{|i - j|}`.

    Examples
    --------
    >>> autoregressive(3, 0.5).cov
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """
    lags = np.abs(np.subtract.outer(np.arange(dimension), np.arange(dimension)))
    return Gaussian(np.zeros(dimension), cov=float(correlation) ** lags)


def separated_modes(dimension: int = 10, distance: float = 8.0, share: float = 0.7) -> GaussianMixture:
    """Two unit Gaussians with unequal weights, some standard deviations apart along the first coordinate.

    Examples
    --------
    >>> separated_modes(2).mean
    array([1.6, 0. ])
    """
    offset = np.zeros(dimension)
    offset[0] = distance / 2
    return GaussianMixture([Gaussian(offset, std=1.0), Gaussian(-offset, std=1.0)], weights=[share, 1 - share])
