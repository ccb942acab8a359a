"""The synthetic problems of Han & Liu (2018), Section 5."""

from __future__ import annotations

import numpy as np

from steinbox.gaussian import Gaussian
from steinbox.mixtures import GaussianMixture


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
