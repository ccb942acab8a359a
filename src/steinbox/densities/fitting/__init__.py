"""Densities fitted to weighted points: families, mixtures, maps, shells."""

from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.fitting.family import Family, Fitted

__all__ = ["CurvedMixtures", "Family", "Fitted", "WeightedPoints"]
