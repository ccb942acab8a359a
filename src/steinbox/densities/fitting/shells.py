r"""Heavy tails in many dimensions: Gaussians around one mean that differ in width only.

In d dimensions the draws of a Gaussian lie in a shell, whose radius varies by a factor of
:math:`1 \pm 1/\sqrt{2d}`. The radii of a Student t vary much more, and no single Gaussian reaches all of them. A scale
mixture (Andrews & Mallows, 1974)

.. math:: q(x) = \sum_j \pi_j\, N(x \mid \mu, s_j^2 D)

with a ladder of widths :math:`s_j` does, and has little more to learn than one Gaussian.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.weights import log_sum_exp

_NUM_ITERATIONS = 10
_RUNG_SPACING = 1.5  # shell widths from one rung of the ladder to the next
_MAX_RUNGS = 16
_RADIUS_QUANTILES = (0.02, 0.98)  # that the ladder reaches, and one rung beyond
_MIN_SHARE_USED = 0.01  # of all points; rungs beyond those that are used are left out, but one on either side
_MIN_SHARE_DRAWN = 0.02  # of all draws for every rung that is kept: where the next points are looked for


def fit_shells(sample: WeightedPoints) -> GaussianMixture:
    r"""The scale mixture with a diagonal D, by expectation-maximization.

    A point in the shells :math:`r_{ij}` counts :math:`\lambda_i = \sum_j r_{ij} / s_j^2` times for mean and variances:
    the farther out, the less.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import StudentT
    >>> points = StudentT(30, dof=4.0).sample(1000, np.random.default_rng(0))
    >>> fitted = fit_shells(WeightedPoints(points, np.full(1000, 1e-3), 1000))
    >>> [round(float(component.cov[0, 0]), 1) for component in fitted.components[::4]]
    [0.2, 0.9, 3.7, 15.5]
    """
    points, weights, dimension = sample.points, sample.weights, sample.points.shape[1]
    mean = weights @ points
    variances = weights @ (points - mean) ** 2 + 1e-300
    scales = _ladder(_squared_radii(points, mean, variances) / dimension, weights, dimension)
    shares = np.full(len(scales), 1 / len(scales))
    for _ in range(_NUM_ITERATIONS):
        responsibilities = _responsibilities(_squared_radii(points, mean, variances), shares, scales, dimension)
        shares = weights @ responsibilities + 1e-6
        counts = weights * (responsibilities / scales).sum(axis=1)
        mean = counts @ points / counts.sum()
        variances = counts @ (points - mean) ** 2 + 1e-300
    widened = variances * (1 + (dimension + 1) / (sample.effective_sample_size + dimension))
    used = np.flatnonzero(shares > _MIN_SHARE_USED)
    kept = slice(max(used[0] - 1, 0), used[-1] + 2)
    components = [Gaussian(mean, std=np.sqrt(scale * widened)) for scale in scales[kept]]
    return GaussianMixture(components, np.maximum(shares[kept], _MIN_SHARE_DRAWN))


def _squared_radii(points: Array, mean: Array, variances: Array) -> Array:
    return np.asarray(((points - mean) ** 2 / variances).sum(axis=1))


def _ladder(squares: Array, weights: Array, dimension: int) -> Array:
    r"""The squares of the widths :math:`s_j`, in equal ratios."""
    low, high = np.log(np.quantile(squares, _RADIUS_QUANTILES, weights=weights, method="inverted_cdf") + 1e-12)
    step = 2 * _RUNG_SPACING / np.sqrt(2 * dimension)
    number = int(np.clip(np.ceil((high - low) / step) + 3, 4, _MAX_RUNGS))
    return np.exp(np.linspace(low - step, high + step, number))


def _responsibilities(squares: Array, shares: Array, scales: Array, dimension: int) -> Array:
    """Of the shells for points at these squared radii, (m, J)."""
    log_terms = (np.log(shares) - 0.5 * dimension * np.log(scales))[:, None] - 0.5 * squares / scales[:, None]
    return np.asarray(np.exp(log_terms - log_sum_exp(log_terms)).T)
