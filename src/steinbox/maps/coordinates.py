r"""Linear coordinates :math:`z = R^{-1}(x - m)` in which particles have a comparable spread.

A kernel :math:`\exp(-\|z - z'\|^2/h)` in these coordinates is one with the metric :math:`(R R^\top)^{-1}` in the
user's, and a Stein step there is a preconditioned step here (Wang et al., 2019). It is what lets one learning rate and
one bandwidth serve parameters in metres and in parts per million.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.scales import positive_std

_SIMILAR_UNITS = 1e4


@dataclass(frozen=True, eq=False)
class Affine:
    """The map between the user's x and z; ``root`` is R, ``inverse`` its inverse."""

    centre: Array
    root: Array
    inverse: Array

    def forward(self, x: Array) -> Array:
        """From x to z."""
        return np.asarray((x - self.centre) @ self.inverse.T)

    def displace(self, x: Array, step: Array) -> Array:
        """Where the step, taken in z, leads in x."""
        return np.asarray(x + step @ self.root.T)

    def score_forward(self, score: Array) -> Array:
        r"""The gradient with respect to z of a function with this gradient with respect to x, :math:`R^\top s`."""
        return np.asarray(score @ self.root)

    def score_back(self, score: Array) -> Array:
        r"""The gradient with respect to x of a function with this gradient with respect to z, :math:`R^{-\top} s`."""
        return np.asarray(score @ self.inverse)


class Coordinates(Protocol):
    """How to choose z from the current particles."""

    def fit(self, x: Array) -> Affine:
        """The map for these particles."""
        ...


@dataclass(frozen=True)
class Plain:
    """The user's own coordinates, as in the paper."""

    def fit(self, x: Array) -> Affine:
        identity = np.eye(x.shape[1])
        return Affine(np.zeros(x.shape[1]), identity, identity)


@dataclass(frozen=True)
class Standardized:
    """Each coordinate divided by the particles' standard deviation."""

    def fit(self, x: Array) -> Affine:
        scales = positive_std(x)
        return Affine(x.mean(axis=0), np.diag(scales), np.diag(1 / scales))


@dataclass(frozen=True)
class Whitened:
    r"""Coordinates in which the particles' covariance is (nearly) the identity.

    The correlation matrix is shrunk towards the identity by d / (d + n), since n particles cannot tell all its
    directions apart, and the *symmetric* root is taken, so that rotating the particles rotates the map.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((500, 2)) @ np.array([[10.0, 0.0], [9.0, 1.0]])
    >>> np.cov(Whitened().fit(x).forward(x).T).round(1) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    def fit(self, x: Array) -> Affine:
        num_points, dimension = x.shape
        centre, scales = x.mean(axis=0), positive_std(x)
        shrinkage = dimension / (dimension + num_points)
        covariance = np.cov(x, rowvar=False, bias=True).reshape(dimension, dimension)
        covariance = (1 - shrinkage) * covariance + shrinkage * np.diag(scales**2)
        # Units so different that eigenvalues drown in rounding: of the correlation matrix then. Any root will do.
        units = scales if scales.max() > _SIMILAR_UNITS * scales.min() else np.ones(dimension)
        eigenvalues, vectors = np.linalg.eigh(covariance / np.outer(units, units))
        roots = np.sqrt(np.maximum(eigenvalues, 1e-12 * eigenvalues[-1]))
        root, inverse = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
        return Affine(centre, units[:, None] * root, inverse / units)
