"""A mixture and a Gaussian process."""

from __future__ import annotations

import numpy as np
from datasets import numbers, of_r, of_statsmodels
from posterior import LOG_2PI, Backend, Posterior, half_normal_log, logistic_density, normal


def mixture_faithful() -> Posterior:
    """Two normal distributions for the minutes between eruptions of Old Faithful; labels can be swapped."""
    minutes = numbers(of_r("datasets", "faithful"), "waiting")

    def density(x, b: Backend):
        means, log_sds, logit = x[..., :2], x[..., 2:4], x[..., 4:5]
        sds = b.np.exp(log_sds)
        one = normal(b, minutes, means[..., :1], sds[..., :1]) - b.np.logaddexp(0.0, -logit)
        two = normal(b, minutes, means[..., 1:], sds[..., 1:]) - b.np.logaddexp(0.0, logit)
        components = normal(b, means, 60.0, 30.0) + normal(b, log_sds, 2.0, 1.0)
        return b.np.logaddexp(one, two).sum(-1) + components.sum(-1) + logistic_density(b, x[..., 4])

    def swap(points: np.ndarray) -> np.ndarray:
        return points[..., [1, 0, 3, 2, 4]] * [1, 1, 1, 1, -1]

    start = [*[(70.0, 20.0)] * 2, *[(2.0, 1.0)] * 2, (0.0, 1.0)]
    return Posterior("mixture_faithful", "mixture of two normals, Old Faithful (R)", density, start, swap)


def gp_nile() -> Posterior:
    """The Nile's flow in every other year of a century: a Gaussian process with noise; its four hyperparameters."""
    flow = numbers(of_statsmodels("nile"), "volume")[::2]
    num_years = len(flow)
    squares = 4 * (np.arange(num_years)[:, None] - np.arange(num_years)) ** 2

    def density(x, b: Backend):
        log_scale, log_length, log_noise = (x[..., k, None, None] for k in (1, 2, 3))
        smooth = b.np.exp(2 * log_scale - 0.5 * squares * b.np.exp(-2 * log_length))
        kernel = smooth + (b.np.exp(2 * log_noise) + 1e-3) * np.eye(num_years)
        errors = flow - x[..., :1]
        solved = b.np.linalg.solve(kernel, errors[..., None])[..., 0]
        likelihood = -0.5 * ((errors * solved).sum(-1) + b.np.linalg.slogdet(kernel)[1] + num_years * LOG_2PI)
        prior = normal(b, x[..., 0], 1_000.0, 300.0) + normal(b, x[..., 2], 2.5, 1.0)
        return likelihood + prior + half_normal_log(b, x[..., 1], 300.0) + half_normal_log(b, x[..., 3], 300.0)

    start = [(1_000.0, 300.0), (5.0, 1.0), (2.5, 1.0), (5.0, 1.0)]
    return Posterior("gp_nile", "Gaussian process, its hyperparameters, the Nile (statsmodels)", density, start)
