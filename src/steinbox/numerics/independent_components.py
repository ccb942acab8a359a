"""Axes along which coordinates are independent, by a fixed-point iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from steinbox.common.arrays import Array

Contrast = Callable[[Array], tuple[Array, Array]]
"""The derivative of what tells a coordinate from a normal one, and its own derivative."""

_MAX_ITERATIONS = 60
_TOLERANCE = 1e-5  # of the cosine between an axis and itself one step before


def _skewness(y: Array) -> tuple[Array, Array]:
    return y**2, 2 * y


def _tails(y: Array) -> tuple[Array, Array]:
    bend = np.tanh(y)
    return bend, 1 - bend**2


CONTRASTS: Mapping[str, Contrast] = MappingProxyType({"skewness": _skewness, "tails": _tails})


def find_independent_axes(points: Array, weights: Array, contrast: Contrast) -> Array:
    r"""The rotation of white points, with axes in its columns, that makes coordinates differ most from normal ones.

    Each step replaces every axis a by :math:`E[g(a^\top z) z] - E[g'(a^\top z)] a`, and the axes by the nearest
    orthogonal ones: FastICA (Hyvärinen, 1999).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sources = rng.exponential(size=(2000, 2)) - 1
    >>> c, s = np.cos(0.5), np.sin(0.5)
    >>> axes = find_independent_axes(sources @ [[c, s], [-s, c]], np.full(2000, 1 / 2000), CONTRASTS["skewness"])
    >>> np.abs([[c, s], [-s, c]] @ axes).round(1).max(axis=0)
    array([1., 1.])
    """
    axes = np.eye(points.shape[1])
    for _ in range(_MAX_ITERATIONS):
        derivative, second = contrast(points @ axes)
        step = points.T @ (derivative * weights[:, None]) - axes * (weights @ second)
        left, _, right = np.linalg.svd(step)
        before, axes = axes, left @ right
        if np.abs((axes * before).sum(axis=0)).min() > 1 - _TOLERANCE:
            break
    return axes
