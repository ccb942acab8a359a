"""Samplers in ask, evaluate, tell form: the protocol, the paper's four algorithms, the default, and baselines."""

from steinbox.samplers.base import Method, Problem, Sample, Sampler
from steinbox.samplers.stein import GFSVGD, SVGD, AnnealedGFSVGD, AnnealedSVGD

__all__ = ["GFSVGD", "SVGD", "AnnealedGFSVGD", "AnnealedSVGD", "Method", "Problem", "Sample", "Sampler"]
