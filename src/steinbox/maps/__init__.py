"""Bijections: affine, bounds, triangular, rotated."""

from steinbox.maps.bijection import Bijection, Identity
from steinbox.maps.bounds import Bounds, Periodic
from steinbox.maps.composition import Composition
from steinbox.maps.coordinates import Affine
from steinbox.maps.marginal import MarginalMap
from steinbox.maps.rotated import RotatedMap
from steinbox.maps.triangular import TriangularMap

__all__ = [
    "Affine",
    "Bijection",
    "Bounds",
    "Composition",
    "Identity",
    "MarginalMap",
    "Periodic",
    "RotatedMap",
    "TriangularMap",
]
