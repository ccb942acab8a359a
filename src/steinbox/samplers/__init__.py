"""Samplers in ask, evaluate, tell form: the protocol, the paper's four algorithms, the default, and baselines."""

from steinbox.samplers.base import Method, Problem, Sample, Sampler
from steinbox.samplers.stein.annealed_gf_svgd import AnnealedGFSVGD
from steinbox.samplers.stein.annealed_svgd import AnnealedSVGD
from steinbox.samplers.stein.gf_svgd import GFSVGD
from steinbox.samplers.stein.svgd import SVGD

__all__ = ["GFSVGD", "SVGD", "AnnealedGFSVGD", "AnnealedSVGD", "Method", "Problem", "Sample", "Sampler"]
