"""Bijections: affine, bounds, triangular, rotated."""

from steinbox.maps.bijection import Bijection, Identity
from steinbox.maps.bounds import Bounds, Periodic
from steinbox.maps.coordinates import Affine
from steinbox.maps.rotated import RotatedMap
from steinbox.maps.skewed import SkewedMap
from steinbox.maps.triangular import TriangularMap

__all__ = ["Affine", "Bijection", "Bounds", "Identity", "Periodic", "RotatedMap", "SkewedMap", "TriangularMap"]
