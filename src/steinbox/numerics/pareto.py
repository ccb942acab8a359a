"""The Pareto shape of importance weights: how heavy their tail is."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.numerics.weights import normalize

_MIN_TAIL_WEIGHTS = 5  # fewer do not determine a shape (as in the loo and arviz packages)
_PRIOR_SHAPE, _PRIOR_WEIGHTS = 0.5, 10  # the weakly informative prior of Vehtari et al. (2024)
_MIN_QUARTILE = 1e-300  # whose reciprocal is finite, with a margin


def pareto_shape(log_weights: Array) -> float:
    r"""The shape :math:`\hat k` of a generalized Pareto distribution fitted to the largest weights.

    Above 0.7 the variance of the weights is for practical purposes infinite, and what is estimated with them cannot be
    trusted (Vehtari et al., 2024). The tail consists of the largest :math:`\min(S/5, 3\sqrt S)` of S weights, fitted
    by the method of Zhang & Stephens (2009), shrunk towards 1/2 by a prior worth ten weights.

    Parameters
    ----------
    log_weights : (S,) array
        May hold −inf.

    Returns
    -------
    float
        NaN if there are too few different weights to fit a tail.

    Examples
    --------
    >>> import numpy as np
    >>> heavy = np.random.default_rng(0).pareto(2.0, size=5000)  # a tail of shape 1/2
    >>> bool(abs(pareto_shape(np.log(heavy)) - 0.5) < 0.2)
    True
    """
    num_tail = int(np.ceil(min(0.2 * len(log_weights), 3 * np.sqrt(len(log_weights)))))
    order = np.argsort(log_weights, kind="stable")
    tail, largest = order[-num_tail:], float(log_weights[order[-1]])
    if num_tail < _MIN_TAIL_WEIGHTS or not np.isfinite(log_weights[order[-num_tail - 1]]):
        return np.nan
    excess = np.exp(log_weights[tail] - largest) - np.exp(log_weights[order[-num_tail - 1]] - largest)
    if not (excess[0] > 0 and _lower_quartile(excess) > _MIN_QUARTILE):
        return np.nan
    return float((num_tail * _fit_shape(excess) + _PRIOR_WEIGHTS * _PRIOR_SHAPE) / (num_tail + _PRIOR_WEIGHTS))


def _fit_shape(excess: Array) -> float:
    """The shape of the generalized Pareto distribution of sorted values (Zhang & Stephens, 2009)."""
    num_values = len(excess)
    num_grid = 30 + int(np.sqrt(num_values))
    steps = 1 - np.sqrt(num_grid / (np.arange(1, num_grid + 1) - 0.5))
    grid = 1 / excess[-1] + steps / (3 * _lower_quartile(excess))
    shapes = np.log1p(-grid[:, None] * excess).mean(axis=1)
    log_likelihood = num_values * (np.log(-grid / shapes) - shapes - 1)
    theta = float(grid @ normalize(log_likelihood))
    return float(np.log1p(-theta * excess).mean())


def _lower_quartile(excess: Array) -> float:
    return float(excess[int(len(excess) / 4 + 0.5) - 1])
