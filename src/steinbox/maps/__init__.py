"""Bijections: affine, bounds, triangular, rotated."""
