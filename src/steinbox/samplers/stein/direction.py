"""The Stein direction: where the particles should flow."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.kernels import Kernel
from steinbox.numerics.pairwise import stein_sums


class Direction(Protocol):
    """What finds the direction: :func:`stein_direction`, or a function like it."""

    def __call__(
        self, x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0, /
    ) -> Array:
        """The update direction at every particle."""
        ...


@runtime_checkable
class Approximation(Direction, Protocol):
    """A direction that is not exact, and knows how far it is off."""

    def relative_error(
        self, x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0, /
    ) -> float:
        """The root mean square error, relative to the size of what it sums up."""
        ...


def stein_direction(
    x: Array, score: Array, weights: Array, kernel: Kernel, bandwidth: float, repulsion: float = 1.0
) -> Array:
    r"""The update direction of SVGD and GF-SVGD,

    .. math:: \phi(x_i) = \sum_j w_j \big[ s_j\, k(x_j, x_i) + c \nabla_{x_j} k(x_j, x_i) \big].

    With :math:`s = \nabla\log p` and :math:`w_j = 1/n` it is SVGD's (update 1 of Han & Liu, 2018); with
    :math:`s = \nabla\log\rho` and :math:`w \propto \rho/p` it is GF-SVGD's (update 2 and Algorithm 1), which is SVGD's
    under the kernel :math:`w(x) w(x') k(x, x')`, divided by :math:`w(x_i)` (Theorem 2).

    A particle of weight zero, outside the support or failed, pushes nobody, whatever its score holds (even NaN); it is
    still pushed by the others.

    Parameters
    ----------
    x, score : (n, d) arrays
        Particles, and the (surrogate's) score at them.
    weights : (n,) array
        Normalised to sum to one.
    kernel : Kernel
    bandwidth : float
    repulsion : float
        The factor c of the repulsive term: :math:`1/\alpha_t` on the path :math:`p^{\alpha_t}`, otherwise one.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.numerics.kernels import RBF
    >>> x = np.array([[-1.0], [1.0]])
    >>> stein_direction(x, score=-x, weights=np.array([0.5, 0.5]), kernel=RBF(), bandwidth=4.0).round(3)
    array([[ 0.132],
           [-0.132]])
    """
    score = np.where(weights[:, None] > 0, score, 0.0)
    return stein_sums(x, score, weights, kernel, bandwidth, repulsion)
