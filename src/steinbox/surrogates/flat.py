r"""The improper surrogate :math:`\rho = 1`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array


@dataclass(frozen=True)
class Flat:
    r"""A constant density. As a surrogate it leaves only the repulsive term (the paper's update with :math:`1/p`):

    .. math:: \Delta x_i \propto \sum_j \frac{1}{p(x_j)} \nabla_{x_j} k(x_j, x_i).

    As the ``base`` of an annealed method it gives the path :math:`p_t \propto p^{\alpha_t}`.

    Examples
    --------
    >>> import numpy as np
    >>> Flat().score(np.ones((2, 1)))
    array([[0.],
           [0.]])
    """

    def log_prob(self, points: Array) -> Array:
        return np.zeros(len(points))

    def score(self, points: Array) -> Array:
        return np.zeros_like(points)
