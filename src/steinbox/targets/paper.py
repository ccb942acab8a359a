"""The synthetic problems of Han & Liu (2018), Section 5."""

from __future__ import annotations

import numpy as np

from steinbox.gaussian import Gaussian
from steinbox.mixtures import GaussianMixture
from steinbox.targets.rbm import GaussBernoulliRBM


def paper_gaussian() -> Gaussian:
    """The target of Figure 1: N(0, 2 I) in two dimensions, where 2 is the variance."""
    return Gaussian(np.zeros(2), std=np.sqrt(2.0))


def paper_gmm(seed: int = 0, *, dimension: int = 25, num_components: int = 10) -> GaussianMixture:
    """The target of Figure 2: ten unit Gaussians in 25 dimensions, their means uniform in [−1, 1].

    Examples
    --------
    >>> paper_gmm(seed=1).dimension
    25
    """
    means = np.random.default_rng(seed).uniform(-1, 1, size=(num_components, dimension))
    return GaussianMixture([Gaussian(mean, std=1.0) for mean in means])


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
