r"""Radial kernels :math:`k(x, y) = f(u)` with :math:`u = \|x - y\|^2 / h`, and their closed-form derivatives.

A kernel is its profile :math:`f`. Everything the package does with kernels needs only
:math:`\log f`, :math:`f` and the two logarithmic derivatives

.. math:: a(u) = f'(u) / f(u), \qquad b(u) = f''(u) / f(u),

because :math:`\nabla_x k = \tfrac{2}{h} a(u) k (x - y)`. For the Gaussian kernel both are constants, which is what
lets :mod:`steinbox.numerics.pairwise` fuse all its sums into one product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable


class Kernel(Protocol):
    """The interface of a radial kernel; ``u`` is the array of scaled squared distances."""

    def value(self, u: Array) -> Array:
        """The kernel itself, f(u)."""
        ...

    def log_value(self, u: Array) -> Array:
        """The logarithm of f(u)."""
        ...

    def slope_ratio(self, u: Array) -> Array | float:
        """f'(u) / f(u): a number if it does not depend on u."""
        ...

    def curvature_ratio(self, u: Array) -> Array | float:
        """f''(u) / f(u): a number if it does not depend on u."""
        ...


@serializable("gaussian-kernel")
@dataclass(frozen=True)
class RBF:
    r"""The Gaussian kernel :math:`\exp(-\|x - y\|^2 / h)`, the paper's choice.

    Examples
    --------
    >>> import numpy as np
    >>> RBF().value(np.array([0.0, np.log(2.0)]))
    array([1. , 0.5])
    """

    def value(self, u: Array) -> Array:
        value = np.negative(u)
        return np.exp(value, out=value)

    def log_value(self, u: Array) -> Array:
        return -u

    def slope_ratio(self, u: Array) -> float:
        return -1.0

    def curvature_ratio(self, u: Array) -> float:
        return 1.0


@serializable("inverse-multiquadric-kernel")
@dataclass(frozen=True)
class IMQ:
    r"""The inverse multiquadric :math:`(1 + \|x - y\|^2 / h)^{\beta}` with :math:`-1 < \beta < 0`.

    Its heavy tails let distant particles interact, and make the kernelized Stein discrepancy control convergence
    (Gorham & Mackey, 2017).

    Examples
    --------
    >>> import numpy as np
    >>> IMQ().value(np.array([0.0, 3.0]))
    array([1. , 0.5])
    """

    exponent: float = -0.5

    def __post_init__(self) -> None:
        if not -1 < self.exponent < 0:
            raise ValueError(f"IMQ expects an exponent between -1 and 0, got {self.exponent}")

    def value(self, u: Array) -> Array:
        return 1 / np.sqrt(1 + u) if self.exponent == -0.5 else (1 + u) ** self.exponent  # the root is ten times faster

    def log_value(self, u: Array) -> Array:
        return self.exponent * np.log1p(u)

    def slope_ratio(self, u: Array) -> Array:
        return self.exponent / (1 + u)

    def curvature_ratio(self, u: Array) -> Array:
        return self.exponent * (self.exponent - 1) / (1 + u) ** 2
