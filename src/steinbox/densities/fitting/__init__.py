"""Densities fitted to weighted points: families, mixtures, maps, shells."""

from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.family import Family, Fitted
from steinbox.densities.fitting.weighted_points import WeightedPoints

__all__ = ["CurvedMixtures", "Family", "Fitted", "WeightedPoints"]
