"""Weighted points: what a density is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.maps.bijection import Bijection
from steinbox.numerics.weights import systematic_resample


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Points (m, d), weights (m,) that sum to one, and how many independent points they are worth."""

    points: Array
    weights: Array
    effective_sample_size: float

    def part(self, rows: IntegerArray, share: float) -> WeightedPoints:
        """Some of the points, worth this share of all."""
        weights = self.weights[rows] / self.weights[rows].sum()
        return WeightedPoints(self.points[rows], weights, share * self.effective_sample_size)

    def transform(self, map_: Bijection) -> WeightedPoints:
        """Their images, with the same weights."""
        return replace(self, points=map_.forward(self.points))

    def at_most(self, num_points: int, rng: np.random.Generator) -> WeightedPoints:
        """Systematically resampled to so many, each once and with its count as weight."""
        if len(self.points) <= num_points:
            return self
        kept, counts = np.unique(systematic_resample(self.weights, num_points, rng), return_counts=True)
        return WeightedPoints(self.points[kept], counts / counts.sum(), self.effective_sample_size)
