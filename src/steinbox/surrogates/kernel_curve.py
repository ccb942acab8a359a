r"""The paper's surrogate: a kernel curve through the values of the target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.bandwidth import Rule, as_rule
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.pairwise import log_kernel_expansion


@dataclass(frozen=True)
class KernelCurve:
    r"""Builds the kernel curve of Algorithm 3,

    .. math:: \rho_{t+1}(x) \propto \sum_j p_{t+1}(x_j) k_\rho(x_j, x),

    in the log domain. Its smoothing kernel :math:`k_\rho` may have another bandwidth than the kernel of the update.

    It interpolates p itself, so that away from the best particles it is nearly flat or tiny, and in many dimensions the
    weights :math:`\rho/p` degenerate; :class:`steinbox.surrogates.Interpolant` does not.

    Parameters
    ----------
    bandwidth : float, str or function
        See :mod:`steinbox.numerics.bandwidth`; the paper's rule if not given.
    kernel : Kernel

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> x = target.sample(100, 0)
    >>> surrogate = sb.surrogates.KernelCurve().build(x, target.log_prob(x), num_current=100)
    >>> surrogate.log_prob(x).shape, surrogate.score(x).shape
    ((100,), (100, 2))
    """

    bandwidth: float | str | Rule = "paper"
    kernel: Kernel = field(default_factory=RBF)
    num_history: int = 0

    def build(self, points: Array, log_target: Array, num_current: int) -> KernelCurveSurrogate:
        inside = np.isfinite(log_target)
        bandwidth = as_rule(self.bandwidth)(points[:num_current])
        return KernelCurveSurrogate(points[inside], log_target[inside], self.kernel, bandwidth)


@dataclass(frozen=True, eq=False)
class KernelCurveSurrogate:
    r"""The curve :math:`\sum_j e^{v_j} k_\rho(x_j, x)` for centers :math:`x_j` and log-values :math:`v_j`."""

    centers: Array
    log_values: Array
    kernel: Kernel
    bandwidth: float

    def log_prob(self, points: Array) -> Array:
        return self.log_prob_and_score(points)[0]

    def score(self, points: Array) -> Array:
        return self.log_prob_and_score(points)[1]

    def log_prob_and_score(self, points: Array) -> tuple[Array, Array]:
        """Both at the cost of one."""
        return log_kernel_expansion(points, self.centers, self.log_values, self.kernel, self.bandwidth)
