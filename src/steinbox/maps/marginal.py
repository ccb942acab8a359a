r"""Maps that make coordinates normal one by one, along the given axes or others.

With the axes in the columns of A, the map is

.. math:: u = \sinh(\delta \operatorname{asinh} v - \epsilon), \qquad v = \frac{A^\top x - \xi}{\lambda},

in every coordinate: the sinh-arcsinh transformation (Jones & Pewsey, 2009). Normal u make v that are skew to the side
of :math:`\epsilon`, with tails that are heavier the smaller :math:`\delta` is. A map along independent axes, followed
by one for each coordinate, is one step of Gaussianization (Chen & Gopinath, 2000).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.maps.bijection import Bijection

_MAX_ANGLE = 300.0  # of sinh and cosh: so far out that the density is zero, and nothing overflows


@serializable("marginal-map")
@dataclass(frozen=True, eq=False)
class MarginalMap(Bijection):
    """Axes (d, d), in columns; ``center`` ξ, ``scale`` λ, ``skew`` ε and ``tail`` δ are (d,).

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.densities.fitting.em import WeightedPoints
    >>> from steinbox.densities.fitting.marginal_map import fit_marginal_map
    >>> points = np.log(np.random.default_rng(0).gamma(2.0, size=(4000, 1)))
    >>> map_ = fit_marginal_map(WeightedPoints(points, np.full(4000, 1 / 4000), 4000))
    >>> u = map_.forward(points)
    >>> bool(abs(np.mean(u**3)) < 0.2), np.allclose(map_.inverse(u), points)
    (True, True)
    """

    axes: Array
    center: Array
    scale: Array
    skew: Array
    tail: Array

    @property
    def is_curved(self) -> bool:
        """Whether some coordinate is skew, or has other tails than a Gaussian's."""
        return bool(self.skew.any() or (self.tail != 1).any())

    def forward(self, points: Array) -> Array:
        """The normal points."""
        return np.asarray(np.sinh(self._angle(self._standardize(points))))

    def inverse(self, images: Array) -> Array:
        """The points whose normal points these are."""
        v = np.sinh((np.arcsinh(images) + self.skew) / self.tail)
        return np.asarray(np.linalg.solve(self.axes.T, (self.center + self.scale * v).T).T)

    def log_det(self, points: Array) -> Array:
        """That of the axes, and of all coordinates."""
        return self.forward_and_log_det(points)[1]

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """The normal points, (n, d), and the logarithm of the map's determinant at each, (n,)."""
        v = self._standardize(points)
        u = np.sinh(self._angle(v))
        log_slopes = 0.5 * (np.log1p(u**2) - np.log1p(v**2)) + np.log(self.tail / self.scale)
        return u, np.asarray(log_slopes.sum(axis=1) + np.linalg.slogdet(self.axes)[1])

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """The score at the points of the density whose score at their normal points is given."""
        v = self._standardize(points)
        u = np.sinh(self._angle(v))
        slope = self.tail * np.sqrt((1 + u**2) / (1 + v**2))
        return np.asarray(((score + u / (1 + u**2)) * slope - v / (1 + v**2)) / self.scale @ self.axes.T)

    def _standardize(self, points: Array) -> Array:
        return np.asarray((points @ self.axes - self.center) / self.scale)

    def _angle(self, v: Array) -> Array:
        return np.clip(self.tail * np.arcsinh(v) - self.skew, -_MAX_ANGLE, _MAX_ANGLE)
