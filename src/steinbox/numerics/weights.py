"""Importance weights: kept as logarithms everywhere, normalized only here; and how heavy their tail is."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray

_MIN_POWER = 1e-18  # of weights that are tempered: even log-weights of 1e15 nats are equal then
_MIN_TAIL_WEIGHTS = 5  # fewer do not determine a shape (as in the loo and arviz packages)
_PRIOR_SHAPE, _PRIOR_WEIGHTS = 0.5, 10  # the weakly informative prior of Vehtari et al. (2024)
_MIN_QUARTILE = 1e-300  # whose reciprocal is finite, with a margin


def log_sum_exp(values: Array) -> Array:
    """The logarithm of the sum of exponentials over the first axis, faster than SciPy's on small arrays.

    Examples
    --------
    >>> import numpy as np
    >>> log_sum_exp(np.array([-1000.0, -np.inf, -1000.0])).round(3)
    np.float64(-999.307)
    """
    largest = np.max(values, axis=0)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(largest + np.log(np.exp(values - largest).sum(axis=0)))[()]


def normalize(log_weights: Array) -> Array:
    r"""Self-normalized weights :math:`w_j / \sum_l w_l` from their logarithms.

    A constant added to all of ``log_weights`` changes nothing, which is why neither the target nor the
    surrogate needs its normalizing constant (the factor :math:`Z_t` of Algorithm 1 in Han & Liu, 2018).

    Parameters
    ----------
    log_weights : (n,) array
        May hold −inf (no weight), but not only −inf.

    Examples
    --------
    >>> import numpy as np
    >>> normalize(np.log([1.0, 3.0])).round(2)
    array([0.25, 0.75])
    """
    total = log_sum_exp(log_weights)
    if not np.isfinite(total):
        raise ValueError("expected at least one finite log-weight and none that is NaN or +inf")
    return np.exp(log_weights - total)


def effective_sample_size(weights: Array) -> float:
    r"""Kish's effective sample size :math:`(\sum_j w_j)^2 / \sum_j w_j^2`; 0 if there is no weight.

    Examples
    --------
    >>> import numpy as np
    >>> effective_sample_size(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    squares = float(weights @ weights)
    return float(weights.sum() ** 2 / squares) if squares > 0 else 0.0


def temper(log_weights: Array, min_size: float, max_power: float = 1.0) -> float:
    r"""The largest power :math:`a \le` ``max_power`` whose weights :math:`w^a` have a given effective sample size.

    Examples
    --------
    >>> import numpy as np
    >>> temper(np.zeros(10), min_size=5)
    1.0
    >>> power = temper(np.linspace(0, 100, 1000), min_size=500)
    >>> round(effective_sample_size(normalize(power * np.linspace(0, 100, 1000))))
    500
    """

    def size(power: float) -> float:
        return effective_sample_size(normalize(power * log_weights))

    if size(max_power) >= min_size:
        return max_power
    from scipy.optimize import brentq  # here, since `import steinbox` is to be light

    lowest, highest = np.log(_MIN_POWER), np.log(max_power)
    if size(_MIN_POWER) < min_size:
        return _MIN_POWER
    return float(np.exp(brentq(lambda power: size(np.exp(power)) - min_size, lowest, highest, xtol=1e-13)))


def systematic_resample(weights: Array, num_points: int, rng: np.random.Generator) -> IntegerArray:
    """Systematic resampling: indices in order, each about ``num_points`` times its weight, from one random number.

    Of equal weights it takes an evenly spaced subset.

    Examples
    --------
    >>> import numpy as np
    >>> systematic_resample(np.array([0.5, 0.25, 0.25, 0.0]), 4, np.random.default_rng(0))
    array([0, 0, 1, 2])
    """
    positions = (rng.random() + np.arange(num_points)) / num_points
    indices = np.searchsorted(np.cumsum(weights), positions, side="right")
    return np.asarray(np.minimum(indices, np.flatnonzero(weights)[-1]), dtype=np.int64)


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
