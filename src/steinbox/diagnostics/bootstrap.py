r"""The wild bootstrap: how large a degenerate V-statistic becomes by chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array

_SIGN_TIME_FACTOR = 4.0  # correlation length of the signs, in autocorrelation times of the sample
_WINDOW_TIMES = 5.0  # length of the summation window, in autocorrelation times (Sokal, 1996)


def random_signs(
    num_points: int, num_bootstrap: int, autocorrelation_time: float, rng: np.random.Generator
) -> npt.NDArray[np.int8]:
    r"""Columns of signs, one per bootstrap: independent, or a Markov chain for a correlated sample.

    The chain (Chwialkowski, Sejdinovic & Gretton, 2014) flips its sign at each step with probability
    :math:`\tfrac12 (1 - e^{-1/L})`, so that its correlation is :math:`e^{-s/L}` at lag s; L is four times the sample's
    integrated autocorrelation time. A time of one is that of independent points, and gives independent signs.

    Examples
    --------
    >>> import numpy as np
    >>> signs = random_signs(1000, 2, autocorrelation_time=10.0, rng=np.random.default_rng(0))
    >>> signs.shape, bool((np.diff(signs[:, 0]) != 0).mean() < 0.05)
    ((1000, 2), True)
    """
    if autocorrelation_time <= 1:
        return rng.choice(np.array([-1, 1], dtype=np.int8), size=(num_points, num_bootstrap))
    flip = 0.5 * -np.expm1(-1 / (_SIGN_TIME_FACTOR * autocorrelation_time))
    flips = rng.random((num_points, num_bootstrap)) < flip
    flips[0] = rng.random(num_bootstrap) < 0.5
    return np.asarray(1 - 2 * (np.cumsum(flips, axis=0) % 2), dtype=np.int8)


def estimate_autocorrelation_time(series: Array) -> float:
    r"""The largest integrated autocorrelation time :math:`1 + 2 \sum_s \rho_s` of the columns of a series.

    The sum ends at the first lag that is at least five times the time it gives (Sokal, 1996).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> walk = np.zeros((20_000, 1))
    >>> for t in range(1, len(walk)):
    ...     walk[t] = 0.8 * walk[t - 1] + rng.standard_normal()
    >>> 7 < estimate_autocorrelation_time(walk) < 11  # (1 + 0.8) / (1 - 0.8) is 9
    True
    """
    num_steps = len(series)
    centered = series - series.mean(axis=0)
    spectrum = np.fft.rfft(centered, n=2 * num_steps, axis=0)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:num_steps]
    varies = correlation[0] > 0
    times = 2 * np.cumsum(correlation[:, varies] / correlation[0, varies], axis=0) - 1
    windows = np.argmax(np.arange(num_steps)[:, None] >= _WINDOW_TIMES * times, axis=0)
    return float(np.max(times[windows, np.arange(times.shape[1])], initial=1.0))
