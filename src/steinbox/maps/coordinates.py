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
from steinbox.common.serialization import serializable
from steinbox.maps.bijection import Bijection
from steinbox.numerics.pairwise.distances import positive_std

_MAX_SCALE_RATIO = 1e4  # of the largest standard deviation to the smallest: units are similar


@serializable("affine-map")
@dataclass(frozen=True, eq=False)
class Affine(Bijection):
    """The map from the user's x to z; ``root`` is R."""

    center: Array
    root: Array
    inverse_root: Array

    @property
    def is_curved(self) -> bool:
        """It is not."""
        return False

    def forward(self, points: Array) -> Array:
        """From x to z."""
        return np.asarray((points - self.center) @ self.inverse_root.T)

    def inverse(self, images: Array) -> Array:
        """From z to x."""
        return self.displace(self.center, images)

    def log_det(self, points: Array) -> Array:
        r""":math:`-\log |\det R|`, everywhere."""
        return np.full(len(points), np.linalg.slogdet(self.inverse_root)[1])

    def pull_back_score(self, points: Array, score: Array) -> Array:
        r"""The gradient with respect to x of a function with this gradient with respect to z, :math:`R^{-\top} s`."""
        return np.asarray(score @ self.inverse_root)

    def push_score(self, score: Array) -> Array:
        r"""The gradient with respect to z of a function with this gradient with respect to x, :math:`R^\top s`."""
        return np.asarray(score @ self.root)

    def displace(self, points: Array, step: Array) -> Array:
        """Where the step, taken in z, leads in x."""
        return np.asarray(points + step @ self.root.T)


class Coordinates(Protocol):
    """How to choose z from the current particles."""

    def fit(self, points: Array) -> Affine:
        """The map for these particles."""
        ...


@dataclass(frozen=True)
class Plain:
    """The user's own coordinates, as in the paper."""

    def fit(self, points: Array) -> Affine:
        identity = np.eye(points.shape[1])
        return Affine(np.zeros(points.shape[1]), identity, identity)


@dataclass(frozen=True)
class Standardized:
    """Each coordinate divided by the particles' standard deviation."""

    def fit(self, points: Array) -> Affine:
        scales = positive_std(points)
        return Affine(points.mean(axis=0), np.diag(scales), np.diag(1 / scales))


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

    def fit(self, points: Array) -> Affine:
        num_points, dimension = points.shape
        center, scales = points.mean(axis=0), positive_std(points)
        shrinkage = dimension / (dimension + num_points)
        covariance = np.cov(points, rowvar=False, bias=True).reshape(dimension, dimension)
        covariance = (1 - shrinkage) * covariance + shrinkage * np.diag(scales**2)
        # Units so different that eigenvalues drown in rounding: of the correlation matrix then. Any root will do.
        units = scales if scales.max() > _MAX_SCALE_RATIO * scales.min() else np.ones(dimension)
        eigenvalues, vectors = np.linalg.eigh(covariance / np.outer(units, units))
        roots = np.sqrt(np.maximum(eigenvalues, 1e-12 * eigenvalues[-1]))
        root, inverse = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
        return Affine(center, units[:, None] * root, inverse / units)
