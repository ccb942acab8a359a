r"""Trends of a Gaussian process: the features :math:`\phi` of its mean :math:`\phi(z)^\top \beta`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable


class Trend(Protocol):
    r"""The features :math:`\phi`, and what follows from them."""

    def features(self, z: Array) -> Array:
        """One row of features per point, shape (n, q); the first is the constant 1."""
        ...

    def slopes(self, z: Array, coefficients: Array) -> Array:
        """Gradients (n, d) of the trend at the points; coefficients shared by all (q,), or one row each (n, q)."""
        ...


@serializable("isotropic-quadratic-trend")
@dataclass(frozen=True)
class IsotropicQuadratic:
    r"""The trend :math:`a + b^\top z + c \|z\|^2`: with c < 0 the log-density of a round normal distribution.

    Examples
    --------
    >>> import numpy as np
    >>> IsotropicQuadratic().features(np.array([[3.0, 4.0]]))
    array([[ 1.,  3.,  4., 25.]])
    """

    def features(self, z: Array) -> Array:
        return np.column_stack([np.ones(len(z)), z, (z**2).sum(axis=1)])

    def slopes(self, z: Array, coefficients: Array) -> Array:
        return np.asarray(coefficients[..., 1:-1] + 2 * coefficients[..., -1:] * z)


ISOTROPIC_QUADRATIC = IsotropicQuadratic()
