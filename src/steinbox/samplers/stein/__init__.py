"""Stein variational gradient descent, with and without gradients, annealed or not."""

from steinbox.samplers.stein.annealed_gf_svgd import AnnealedGFSVGD
from steinbox.samplers.stein.annealed_svgd import AnnealedSVGD
from steinbox.samplers.stein.gf_svgd import GFSVGD
from steinbox.samplers.stein.svgd import SVGD

__all__ = ["GFSVGD", "SVGD", "AnnealedGFSVGD", "AnnealedSVGD"]
