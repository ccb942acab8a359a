"""Triangular maps along axes of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.maps.bijection import Bijection
from steinbox.maps.triangular import TriangularMap


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
