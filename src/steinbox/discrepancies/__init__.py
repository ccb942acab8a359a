"""How far a sample is from a distribution."""

from steinbox.discrepancies.mmd import mmd

__all__ = ["mmd"]
