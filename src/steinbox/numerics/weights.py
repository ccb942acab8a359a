"""Importance weights: kept as logarithms everywhere, normalized only here."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, IntegerArray

_BISECTIONS = 60  # halvings of [0, max_power], enough for double precision


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
    r"""Kish's effective sample size :math:`(\sum_j w_j)^2 / \sum_j w_j^2`.

    Examples
    --------
    >>> import numpy as np
    >>> effective_sample_size(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    return float(weights.sum() ** 2 / (weights @ weights))


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
    low, high = 0.0, max_power
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if size(middle) >= min_size else (low, middle)
    return high if low == 0 else low


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
