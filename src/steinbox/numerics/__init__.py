"""Numerics that know nothing of samplers: weights, kernels, sums over pairs, quasi-random points, optimizers."""
