"""The problems of Han & Liu (2018), Section 5, and their initial distributions."""

from __future__ import annotations

import numpy as np

from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.paper.targets.rbm import GaussBernoulliRBM


def paper_gaussian() -> Gaussian:
    """The target of Figure 1: N(0, 2 I) in two dimensions, where 2 is the variance.

    Examples
    --------
    >>> import steinbox as sb
    >>> sb.paper.targets.paper_gaussian().dimension
    2
    """
    return Gaussian(np.zeros(2), std=np.sqrt(2.0))


def paper_gaussian_surrogate(squared_distance: float = 0.0, variance: float = 6.0) -> Gaussian:
    r"""The surrogate of Figure 1: :math:`N(\mu_\rho, \sigma_\rho I)`, with ``squared_distance`` :math:`\|\mu_\rho\|^2`.

    Three times the target's variance is the paper's optimum.

    Examples
    --------
    >>> paper_gaussian_surrogate(squared_distance=8).mean
    array([2., 2.])
    """
    return Gaussian(np.full(2, np.sqrt(squared_distance / 2)), std=np.sqrt(variance))


def paper_gmm(seed: int = 0, *, dimension: int = 25, num_components: int = 10) -> GaussianMixture:
    """The target of Figure 2: ten unit Gaussians in 25 dimensions, their means uniform in [−1, 1].

    Examples
    --------
    >>> paper_gmm(seed=1).dimension
    25
    """
    means = np.random.default_rng(seed).uniform(-1, 1, size=(num_components, dimension))
    return GaussianMixture([Gaussian(mean, std=1.0) for mean in means])


def paper_gmm_initial(seed: int = 0, *, dimension: int = 25) -> Gaussian:
    """The surrogate and initial distribution of Figure 2: variance 4, mean uniform in [−1, 1]."""
    return _with_uniform_mean(seed, dimension, low=-1, high=1, variance=4)


def paper_rbm(seed: int = 0, *, dimension: int = 20, num_hidden: int = 10) -> GaussBernoulliRBM:
    """The target of Figure 3: couplings of ±0.5, standard normal biases, 20 visible and 10 hidden units.

    Examples
    --------
    >>> paper_rbm(seed=1).dimension
    20
    """
    rng = np.random.default_rng(seed)
    couplings = rng.choice([-0.5, 0.5], size=(dimension, num_hidden))
    return GaussBernoulliRBM(couplings, rng.standard_normal(dimension), rng.standard_normal(num_hidden))


def paper_rbm_initial(seed: int = 0, *, dimension: int = 20) -> Gaussian:
    """The initial distribution of Figure 3: variance 3, mean uniform in [1, 2]."""
    return _with_uniform_mean(seed, dimension, low=1, high=2, variance=3)


def paper_gp_initial(seed: int = 0, *, dimension: int = 9) -> Gaussian:
    """The initial distribution of Figure 4: variance 3, mean uniform in [−1, 1]; Glass has dimension 9, SUSY 18.

    Examples
    --------
    >>> paper_gp_initial(dimension=18).cov[0, 0].round(12)
    np.float64(3.0)
    """
    return _with_uniform_mean(seed, dimension, low=-1, high=1, variance=3)


def _with_uniform_mean(seed: int, dimension: int, *, low: float, high: float, variance: float) -> Gaussian:
    """Its own stream of random numbers, so that it is independent of the target of the same seed."""
    rng = np.random.default_rng([seed, 1])
    return Gaussian(rng.uniform(low, high, size=dimension), std=np.sqrt(variance))
