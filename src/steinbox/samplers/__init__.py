"""Samplers in ask, evaluate, tell form: the protocol, the paper's four algorithms, the default, and baselines."""

from steinbox.samplers.base import Method, Problem, Sample, Sampler

__all__ = ["Method", "Problem", "Sample", "Sampler"]
