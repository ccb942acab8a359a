r"""Triangular maps: curved distributions made nearly white, one coordinate after the other.

Given the coordinates before it, each coordinate has a mean that is quadratic in them and a log-scale that is a sum of
parabolas of them:

.. math:: u_k = \frac{z_k - m_k(z_{<k})}{\exp s_k(z_{<k})}.

Bananas, funnels and hierarchical models are of this kind. The map is monotone in every coordinate, so that it can be
undone, and its determinant is :math:`\prod_k e^{-s_k}` (Rosenblatt, 1952; Marzouk et al., 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.maps.bijection import Bijection


@serializable("triangular-map")
@dataclass(frozen=True, eq=False)
class TriangularMap(Bijection):
    """``forward`` leads from points x to nearly white u.

    Coordinates are taken in ``order``, standardized by center and scale. Means are ``linear`` in 1 and z, and
    ``products`` are the coefficients of ``pairs`` of coordinates multiplied; ``log_scales`` are those of 1, z and z².
    Outside the box of ``low`` and ``high`` all but the linear part is held constant, and log-scales stay between
    ``narrowest`` and ``widest``, so that nothing explodes where no point was.
    """

    order: IntegerArray
    center: Array
    scale: Array
    low: Array
    high: Array
    pairs: IntegerArray
    linear: Array
    products: Array
    log_scales: Array
    narrowest: Array
    widest: Array

    @cached_property
    def is_curved(self) -> bool:
        """Whether it is more than an affine map."""
        return bool(len(self.pairs) or self.log_scales[1:].any())

    def forward(self, points: Array) -> Array:
        """The white points."""
        return self.forward_and_log_det(points)[0]

    def log_det(self, points: Array) -> Array:
        """Minus the sum of all log-scales, (n,)."""
        return self.forward_and_log_det(points)[1]

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """The white points, (n, d), and the logarithm of the map's determinant at each, (n,)."""
        log_det_scale = np.log(self.scale).sum()
        if not self.is_curved:
            log_det = -self._straight_log_scales.sum() - log_det_scale
            return (points - self.center) @ self._straight_slopes + self._straight_offsets, np.full(
                len(points), log_det
            )
        z = self._standardize(points)
        mean, log_scale = self._conditionals(z, np.clip(z, self.low, self.high), slice(None))
        return (z - mean) * np.exp(-log_scale), -log_scale.sum(axis=1) - log_det_scale

    def inverse(self, images: Array) -> Array:
        """The points whose white points these are, one coordinate after the other."""
        if not self.is_curved:
            return np.asarray(
                self.center + np.linalg.solve(self._straight_slopes.T, (images - self._straight_offsets).T).T
            )
        z, held = np.zeros_like(images), np.zeros_like(images)
        for k in range(images.shape[1]):
            mean, log_scale = self._conditionals(z, held, slice(k, k + 1))
            z[:, k] = mean[:, 0] + np.exp(log_scale[:, 0]) * images[:, k]
            held[:, k] = np.clip(z[:, k], self.low[k], self.high[k])
        points = np.empty_like(z)
        points[:, self.order] = z
        return np.asarray(self.center + self.scale * points)

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """The score at the points of the density whose score at their white points is given; by the chain rule."""
        z = self._standardize(points)
        held = np.clip(z, self.low, self.high)
        mean, log_scale = self._conditionals(z, held, slice(None))
        of_mean = -score * np.exp(-log_scale)
        of_scale = -1 - score * (z - mean) * np.exp(-log_scale)
        free = (log_scale > self.narrowest) & (log_scale < self.widest)
        of_held = self._through_features(held, of_mean, np.where(free, of_scale, 0.0))
        inside = (z > self.low) & (z < self.high)
        of_z = -of_mean + of_mean @ self.linear[1:].T + np.where(inside, of_held, 0.0)
        pulled = np.empty_like(of_z)
        pulled[:, self.order] = of_z
        return pulled / self.scale

    def _through_features(self, held: Array, of_mean: Array, of_scale: Array) -> Array:
        """The derivative with respect to the held coordinates, from those to means and log-scales."""
        dimension = held.shape[1]
        of_products = of_mean @ self.products.T
        result = of_scale @ self.log_scales[1 : 1 + dimension].T
        result += 2 * held * (of_scale @ self.log_scales[1 + dimension :].T)
        for column, (first, second) in enumerate(self.pairs):
            result[:, first] += of_products[:, column] * held[:, second]
            result[:, second] += of_products[:, column] * held[:, first]
        return np.asarray(result)

    def _standardize(self, points: Array) -> Array:
        return np.asarray(((points - self.center) / self.scale)[:, self.order])

    def _conditionals(self, z: Array, held: Array, which: slice) -> tuple[Array, Array]:
        """Means and log-scales of some coordinates given those before them."""
        curved = multiply_pairs(held, self.pairs) @ self.products[:, which]
        mean = self.linear[0, which] + z @ self.linear[1:, which] + curved
        log_scale = self.log_scales[0, which] + self._scale_features(held) @ self._log_scale_slopes[:, which]
        return mean, np.clip(log_scale, self.narrowest[which], self.widest[which])

    def _scale_features(self, held: Array) -> Array:
        """Those of the columns z and z² that some log-scale depends on."""
        plain, squared = self._scale_columns
        return np.concatenate([held[:, plain], held[:, squared] ** 2], axis=1)

    @cached_property
    def _scale_columns(self) -> tuple[IntegerArray, IntegerArray]:
        """The coordinates that some log-scale depends on, and those whose squares it depends on."""
        plain, squared = self.log_scales[1:].any(axis=1).reshape(2, -1)
        return np.flatnonzero(plain), np.flatnonzero(squared)

    @cached_property
    def _log_scale_slopes(self) -> Array:
        plain, squared = self._scale_columns
        return np.asarray(self.log_scales[np.concatenate([1 + plain, 1 + len(self.order) + squared])])

    # -- a map that is not curved is affine: u = (x - center) slopes + offsets -------------------------------------

    @cached_property
    def _straight_log_scales(self) -> Array:
        return np.asarray(np.clip(self.log_scales[0], self.narrowest, self.widest))

    @cached_property
    def _straight_slopes(self) -> Array:
        slopes = np.empty_like(self.linear[1:])
        slopes[self.order] = (np.eye(len(slopes)) - self.linear[1:]) * np.exp(-self._straight_log_scales)
        return np.asarray(slopes / self.scale[:, None])

    @cached_property
    def _straight_offsets(self) -> Array:
        return np.asarray(-self.linear[0] * np.exp(-self._straight_log_scales))


@serializable("rotated-triangular-map")
@dataclass(frozen=True, eq=False)
class RotatedMap(Bijection):
    r"""A triangular map of the coordinates :math:`(x - c)^\top A`, the columns of A being the axes."""

    center: Array
    axes: Array
    triangular: TriangularMap

    @property
    def is_curved(self) -> bool:
        """Whether it is more than an affine map."""
        return self.triangular.is_curved

    def forward(self, points: Array) -> Array:
        """The white points."""
        return self.triangular.forward(self._along_axes(points))

    def inverse(self, images: Array) -> Array:
        """The points whose white points these are."""
        return np.asarray(self.center + np.linalg.solve(self.axes.T, self.triangular.inverse(images).T).T)

    def log_det(self, points: Array) -> Array:
        """That of the triangular map, and of the axes."""
        return self.forward_and_log_det(points)[1]

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """The white points, (n, d), and the logarithm of the map's determinant at each, (n,)."""
        images, log_det = self.triangular.forward_and_log_det(self._along_axes(points))
        return images, log_det + np.linalg.slogdet(self.axes)[1]

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """The score at the points of the density whose score at their white points is given."""
        return np.asarray(self.triangular.pull_back_score(self._along_axes(points), score) @ self.axes.T)

    def _along_axes(self, points: Array) -> Array:
        return np.asarray((points - self.center) @ self.axes)


def multiply_pairs(z: Array, pairs: IntegerArray) -> Array:
    """The products of pairs of coordinates, (n, P)."""
    return z[:, pairs[:, 0]] * z[:, pairs[:, 1]]


def scale_features(z: Array) -> Array:
    """The columns 1, z and z²."""
    return np.column_stack([np.ones(len(z)), z, z**2])
