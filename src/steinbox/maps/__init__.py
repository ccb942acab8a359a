"""Bijections: affine, bounds, hierarchies, triangular, rotated."""

from steinbox.maps.bijection import Bijection, Composition, Identity
from steinbox.maps.bounds import Bounds, Periodic
from steinbox.maps.coordinates import Affine
from steinbox.maps.hierarchical import HierarchicalMap
from steinbox.maps.marginal import MarginalMap
from steinbox.maps.triangular import RotatedMap, TriangularMap

__all__ = [
    "Affine",
    "Bijection",
    "Bounds",
    "Composition",
    "HierarchicalMap",
    "Identity",
    "MarginalMap",
    "Periodic",
    "RotatedMap",
    "TriangularMap",
]
