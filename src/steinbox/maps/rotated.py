"""Triangular maps along axes of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.maps.triangular import TriangularMap


@dataclass(frozen=True, eq=False)
class RotatedMap:
    r"""A triangular map of the coordinates :math:`(x - c)^\top A`, the columns of A being the axes."""

    centre: Array
    axes: Array
    warp: TriangularMap

    @property
    def is_curved(self) -> bool:
        """Whether it is more than an affine map."""
        return self.warp.is_curved

    def forward(self, x: Array) -> tuple[Array, Array]:
        """The white points, (n, d), and the log-volume of the map at each, (n,)."""
        u, log_volume = self.warp.forward((x - self.centre) @ self.axes)
        return u, log_volume + np.linalg.slogdet(self.axes)[1]

    def backward(self, u: Array) -> Array:
        """The points that are mapped to ``u``."""
        return np.asarray(self.centre + np.linalg.solve(self.axes.T, self.warp.backward(u).T).T)

    def score(self, x: Array, score_u: Array) -> Array:
        """The score of the density at ``x`` whose white points have the score ``score_u``."""
        return np.asarray(self.warp.score((x - self.centre) @ self.axes, score_u) @ self.axes.T)
