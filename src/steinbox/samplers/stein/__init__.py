"""Stein variational gradient descent, with and without gradients, annealed or not."""

from steinbox.samplers.stein.methods import GFSVGD, SVGD, AnnealedGFSVGD, AnnealedSVGD
from steinbox.samplers.stein.random_features import RandomFeatures

__all__ = ["GFSVGD", "SVGD", "AnnealedGFSVGD", "AnnealedSVGD", "RandomFeatures"]
