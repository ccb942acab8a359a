r"""Skewed maps fitted to weighted points, by the first three moments of every coordinate."""

from __future__ import annotations

from functools import cache

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.sparse_map import fit_sparse_map
from steinbox.maps.skewed import SkewedMap

_MAX_SKEW = 3.0  # of a coordinate's map: what is more skew has no other shape
_NUM_NODES = 101  # of the table from skew to skewness, and of its integrals


def fit_skewed_map(sample: WeightedPoints) -> SkewedMap:
    r"""The map with the mean, variance and skewness of every coordinate of the images of a sparse affine map.

    A skewness g of n independent points is shrunk to zero by its variance, :math:`g \max(0, 1 - 6 / (n g^2))`.
    """
    affine = fit_sparse_map(sample)
    y = affine.forward(sample.points)
    mean = sample.weights @ y
    spread = np.sqrt(sample.weights @ (y - mean) ** 2) + 1e-300
    skewness = sample.weights @ ((y - mean) / spread) ** 3
    chance = 6 / (sample.effective_sample_size * np.maximum(skewness**2, 1e-300))
    skews, known = _table()
    skew = np.interp(skewness * np.maximum(1 - chance, 0.0), known, skews)
    of_mean, of_spread, _ = _moments(skew)
    scale = spread / of_spread
    return SkewedMap(affine, mean - scale * of_mean, scale, skew)


def _moments(skew: Array) -> tuple[Array, Array, Array]:
    r"""Mean, standard deviation and skewness of :math:`u \cosh\epsilon + \sqrt{1 + u^2} \sinh\epsilon`, normal u."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NUM_NODES)
    weights = weights / weights.sum()
    v = nodes * np.cosh(skew)[:, None] + np.sqrt(1 + nodes**2) * np.sinh(skew)[:, None]
    mean = v @ weights
    spread = np.sqrt((v - mean[:, None]) ** 2 @ weights)
    return mean, spread, ((v - mean[:, None]) / spread[:, None]) ** 3 @ weights


@cache
def _table() -> tuple[Array, Array]:
    """Skews, and the skewness that each makes, both rising."""
    skews = np.linspace(-_MAX_SKEW, _MAX_SKEW, _NUM_NODES)
    return skews, _moments(skews)[2]
