"""One map after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.maps.bijection import Bijection


@serializable("composition")
@dataclass(frozen=True, eq=False)
class Composition(Bijection):
    """The images under ``second`` of the images under ``first``."""

    first: Bijection
    second: Bijection

    @property
    def is_curved(self) -> bool:
        """Whether one of the two is."""
        return self.first.is_curved or self.second.is_curved

    def forward(self, points: Array) -> Array:
        """The images of the images."""
        return self.second.forward(self.first.forward(points))

    def inverse(self, images: Array) -> Array:
        """The points whose images these are."""
        return self.first.inverse(self.second.inverse(images))

    def log_det(self, points: Array) -> Array:
        """The sum of both."""
        return self.forward_and_log_det(points)[1]

    def forward_and_log_det(self, points: Array) -> tuple[Array, Array]:
        """The images, (n, d), and the logarithm of the determinant at each, (n,)."""
        between, first_log_det = self.first.forward_and_log_det(points)
        images, second_log_det = self.second.forward_and_log_det(between)
        return images, np.asarray(first_log_det + second_log_det)

    def pull_back_score(self, points: Array, score: Array) -> Array:
        """Through the second map, and then through the first."""
        return self.first.pull_back_score(points, self.second.pull_back_score(self.first.forward(points), score))
