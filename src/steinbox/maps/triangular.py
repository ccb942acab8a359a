r"""Triangular maps: curved distributions made nearly white, one coordinate after the other.

Given the coordinates before it, each coordinate has a mean that is quadratic in them and a log-scale that is a sum of
parabolas of them:

.. math:: u_k = \frac{z_k - m_k(z_{<k})}{\exp s_k(z_{<k})}.

Bananas, funnels and hierarchical models are of this kind. The map is monotone in every coordinate, so that it can be
undone, and its volume is :math:`\prod_k e^{-s_k}` (Rosenblatt, 1952; Marzouk et al., 2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, IntegerArray


@dataclass(frozen=True, eq=False)
class TriangularMap:
    """The map from points x to nearly white u. Coordinates are taken in ``order``, standardised by centre and scale.

    Means are ``linear`` in 1 and z, and ``products`` are the coefficients of ``pairs`` of coordinates multiplied;
    ``log_scales`` are those of 1, z and z². Outside the box of ``low`` and ``high`` all but the linear part is held
    constant, and log-scales stay between ``narrowest`` and ``widest``, so that nothing explodes where no point was.
    """

    order: IntegerArray
    centre: Array
    scale: Array
    low: Array
    high: Array
    pairs: IntegerArray
    linear: Array
    products: Array
    log_scales: Array
    narrowest: Array
    widest: Array

    @property
    def is_curved(self) -> bool:
        """Whether it is more than an affine map."""
        return bool(len(self.pairs) or self.log_scales[1:].any())

    def forward(self, x: Array) -> tuple[Array, Array]:
        """The white points, (n, d), and the log-volume of the map at each, (n,)."""
        z = self._standardised(x)
        mean, log_scale = self._conditionals(z, np.clip(z, self.low, self.high), slice(None))
        return (z - mean) * np.exp(-log_scale), -log_scale.sum(axis=1) - np.log(self.scale).sum()

    def backward(self, u: Array) -> Array:
        """The points that are mapped to ``u``."""
        z, held = np.zeros_like(u), np.zeros_like(u)
        for k in range(u.shape[1]):
            mean, log_scale = self._conditionals(z, held, slice(k, k + 1))
            z[:, k] = mean[:, 0] + np.exp(log_scale[:, 0]) * u[:, k]
            held[:, k] = np.clip(z[:, k], self.low[k], self.high[k])
        x = np.empty_like(z)
        x[:, self.order] = z
        return np.asarray(self.centre + self.scale * x)

    def score(self, x: Array, score_u: Array) -> Array:
        """The score of the density at ``x`` whose white points have the score ``score_u``; by the chain rule."""
        z = self._standardised(x)
        held = np.clip(z, self.low, self.high)
        mean, log_scale = self._conditionals(z, held, slice(None))
        of_mean = -score_u * np.exp(-log_scale)
        of_scale = -1 - score_u * (z - mean) * np.exp(-log_scale)
        free = (log_scale > self.narrowest) & (log_scale < self.widest)
        of_held = self._through_features(held, of_mean, np.where(free, of_scale, 0.0))
        inside = (z > self.low) & (z < self.high)
        of_z = -of_mean + of_mean @ self.linear[1:].T + np.where(inside, of_held, 0.0)
        score = np.empty_like(of_z)
        score[:, self.order] = of_z
        return score / self.scale

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

    def _standardised(self, x: Array) -> Array:
        return np.asarray(((x - self.centre) / self.scale)[:, self.order])

    def _conditionals(self, z: Array, held: Array, which: slice) -> tuple[Array, Array]:
        """Means and log-scales of some coordinates given those before them."""
        curved = multiplied(held, self.pairs) @ self.products[:, which]
        mean = self.linear[0, which] + z @ self.linear[1:, which] + curved
        log_scale = scale_features(held) @ self.log_scales[:, which]
        return mean, np.clip(log_scale, self.narrowest[which], self.widest[which])


def multiplied(z: Array, pairs: IntegerArray) -> Array:
    """The products of pairs of coordinates, (n, P)."""
    return z[:, pairs[:, 0]] * z[:, pairs[:, 1]]


def scale_features(z: Array) -> Array:
    """The columns 1, z and z²."""
    return np.column_stack([np.ones(len(z)), z, z**2])
