r"""Is the spread of a sample right? Stein's identity with a linear function.

With :math:`f(x) = (x_k - m_k) e_k` it says that under the target

.. math:: -\sum_j w_j\, s_k(x_j)\, (x_{jk} - m_k) \approx 1,

with the target's score s and equal weights, or a surrogate's and :math:`w \propto \rho / p`. If the target is Gaussian
it is the variance of the points over the target's, coordinate by coordinate. Unlike the test of fit it sees points that
lie evenly and too close together.
"""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array


def stein_spread(points: Array, weights: Array, score: Array) -> tuple[Array, Array]:
    """The sum above for every coordinate, below one where points are too close together, and its standard error.

    The error is at least that of draws of a Gaussian target, whose products have a variance of two: a few points
    that are close together by chance would seem too sure.

    Examples
    --------
    >>> import numpy as np
    >>> x = 0.5 * np.random.default_rng(0).standard_normal((1000, 1))  # of N(0, 1), whose score is -x
    >>> ratio, error = stein_spread(x, np.full(1000, 1 / 1000), -x)
    >>> bool(abs(ratio[0] - 0.25) < 3 * error[0])
    True
    """
    products = _products(points, weights, score)
    ratio = weights @ products
    scatter = weights**2 @ (products - ratio) ** 2
    return ratio, np.sqrt(np.maximum(scatter, 2 * (weights @ weights)))


def mean_spread(points: Array, weights: Array, score: Array) -> tuple[float, float]:
    """The same averaged over coordinates, which is known better: it does not depend on linear coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> x = 0.8 * np.random.default_rng(0).standard_normal((50, 30))
    >>> ratio, error = mean_spread(x, np.full(50, 1 / 50), -x)
    >>> bool(abs(ratio - 0.64) < 3 * error < 0.2)
    True
    """
    products = _products(points, weights, score).mean(axis=1)
    ratio = float(weights @ products)
    scatter = float(weights**2 @ (products - ratio) ** 2)
    return ratio, float(np.sqrt(max(scatter, 2 * float(weights @ weights) / points.shape[1])))


def _products(points: Array, weights: Array, score: Array) -> Array:
    return np.asarray(-np.where(weights[:, None] > 0, score, 0.0) * (points - weights @ points))
