"""Pareto-smoothed importance sampling: heavy weights tamed, and a number that says how heavy they are."""

from __future__ import annotations

import numpy as np

from steinbox.types import Array
from steinbox.weights import normalize

_TINY = 1e-300  # what has a reciprocal, with room to spare


def pareto_smoothed(log_weights: Array) -> tuple[Array, float]:
    r"""Log-weights with their largest replaced by quantiles of a fitted Pareto tail, and its shape :math:`\hat k`.

    Above 0.7 the variance of the weights is for practical purposes infinite, and what is estimated with them cannot be
    trusted (Vehtari et al., 2024). The tail are the largest :math:`\min(S/5, 3\sqrt S)` of S weights; its generalised
    Pareto distribution is fitted by the method of Zhang & Stephens (2009), drawn towards 1/2 by ten pseudo-weights.

    Parameters
    ----------
    log_weights : (S,) array
        May hold −inf.

    Returns
    -------
    smoothed : (S,) array
        In the same order and up to the same constant.
    shape : float
        NaN if there are too few different weights to fit a tail; they are then unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> heavy = np.random.default_rng(0).pareto(2.0, size=5000)  # a tail of shape 1/2
    >>> smoothed, shape = pareto_smoothed(np.log(heavy))
    >>> bool(abs(shape - 0.5) < 0.2)
    True
    """
    num_tail = int(np.ceil(min(0.2 * len(log_weights), 3 * np.sqrt(len(log_weights)))))
    order = np.argsort(log_weights, kind="stable")
    tail, largest = order[-num_tail:], float(log_weights[order[-1]])
    if num_tail < 5 or not np.isfinite(log_weights[order[-num_tail - 1]]):
        return log_weights, np.nan
    threshold = np.exp(log_weights[order[-num_tail - 1]] - largest)
    excess = np.exp(log_weights[tail] - largest) - threshold
    if not (excess[0] > 0 and _lower_quartile(excess) > _TINY):
        return log_weights, np.nan
    shape, scale = _fitted_pareto(excess)
    shape = (num_tail * shape + 10 * 0.5) / (num_tail + 10)
    levels = (np.arange(num_tail) + 0.5) / num_tail
    smoothed = log_weights.copy()
    smoothed[tail] = np.minimum(np.log(threshold + _quantiles(levels, shape, scale)), 0.0) + largest
    return smoothed, float(shape)


def _fitted_pareto(excess: Array) -> tuple[float, float]:
    """Shape and scale of the generalised Pareto distribution of sorted values (Zhang & Stephens, 2009)."""
    num_values = len(excess)
    num_grid = 30 + int(np.sqrt(num_values))
    steps = 1 - np.sqrt(num_grid / (np.arange(1, num_grid + 1) - 0.5))
    grid = 1 / excess[-1] + steps / (3 * _lower_quartile(excess))
    shapes = np.log1p(-grid[:, None] * excess).mean(axis=1)
    log_likelihood = num_values * (np.log(-grid / shapes) - shapes - 1)
    theta = float(grid @ normalize(log_likelihood))
    shape = float(np.log1p(-theta * excess).mean())
    return shape, -shape / theta


def _lower_quartile(excess: Array) -> float:
    return float(excess[int(len(excess) / 4 + 0.5) - 1])


def _quantiles(levels: Array, shape: float, scale: float) -> Array:
    if abs(shape) < 1e-8:
        return np.asarray(-scale * np.log1p(-levels))
    return np.asarray(scale * np.expm1(-shape * np.log1p(-levels)) / shape)
