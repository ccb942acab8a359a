r"""Maps that make skew coordinates symmetric, after an affine map.

Of every coordinate y of the affine map's images the map is

.. math:: u = \sinh(\operatorname{asinh} v - \epsilon), \qquad v = \frac{y - \xi}{\lambda},

a sinh-arcsinh transformation (Jones & Pewsey, 2009) with tails as they were. Normal u make
:math:`v = u \cosh\epsilon + \sqrt{1 + u^2} \sinh\epsilon`, skew to the side of :math:`\epsilon`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.maps.bijection import Bijection
from steinbox.maps.triangular import TriangularMap


@serializable("skewed-map")
@dataclass(frozen=True, eq=False)
class SkewedMap(Bijection):
    """An affine map, then one for each coordinate; ``center``, ``scale`` and ``skew`` are (d,).

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.densities.fitting.em import WeightedPoints
    >>> from steinbox.densities.fitting.skewed_map import fit_skewed_map
    >>> points = np.log(np.random.default_rng(0).gamma(2.0, size=(4000, 1)))
    >>> map_ = fit_skewed_map(WeightedPoints(points, np.full(4000, 1 / 4000), 4000))
    >>> u = map_.forward(points)
    >>> bool(abs(np.mean(u**3)) < 0.2), np.allclose(map_.inverse(u), points)
    (True, True)
    """

    affine: TriangularMap
    center: Array
    scale: Array
    skew: Array

    @property
    def is_curved(self) -> bool:
        """Whether some coordinate is skew."""
        return bool(self.affine.is_curved or self.skew.any())

    def forward(self, points: Array) -> Array:
        """The white points."""
        return self._symmetrize(self._standardize(self.affine.forward(points)))

    def inverse(self, images: Array) -> Array:
        """The points whose white points these are."""
        v = images * np.cosh(self.skew) + np.sqrt(1 + images**2) * np.sinh(self.skew)
        return self.affine.inverse(self.center + self.scale * v)

    def log_det(self, points: Array) -> Array:
        """That of the affine map, and of all coordinates."""
        return self.forward_and_log_det(points)[1]

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """The white points, (n, d), and the logarithm of the map's determinant at each, (n,)."""
        images, log_det = self.affine.forward_and_log_det(points)
        v = self._standardize(images)
        u = self._symmetrize(v)
        log_slopes = 0.5 * (np.log1p(u**2) - np.log1p(v**2)) - np.log(self.scale)
        return u, log_det + log_slopes.sum(axis=1)

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """The score at the points of the density whose score at their white points is given."""
        v = self._standardize(self.affine.forward(points))
        u = self._symmetrize(v)
        slope = np.sqrt((1 + u**2) / (1 + v**2))
        of_images = (score * slope + u / (1 + u**2) * slope - v / (1 + v**2)) / self.scale
        return self.affine.pull_back_score(points, of_images)

    def _standardize(self, images: Array) -> Array:
        return np.asarray((images - self.center) / self.scale)

    def _symmetrize(self, v: Array) -> Array:
        return np.asarray(np.sinh(np.arcsinh(v) - self.skew))
