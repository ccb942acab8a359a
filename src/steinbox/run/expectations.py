r"""Expectations under a weighted sample, each with its standard error.

The weights are self-normalized, so that an estimate is a ratio, and its error follows by the delta method: for
:math:`\hat\mu = \sum_i w_i f(x_i)` it is

.. math:: \Big( \sum_i w_i^2 (f(x_i) - \hat\mu)^2 \Big)^{1/2}

(Owen, Monte Carlo theory, methods and examples, 2013, section 9.2). It is that of independent draws: it knows nothing
of a region that was not seen, and particles that repel each other have a smaller one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, default_errstate


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number, or an array of them, with its standard error.

    Examples
    --------
    >>> print(Estimate(np.float64(1.23456), np.float64(0.01234)))
    1.235 ± 0.012
    """

    value: Array
    error: Array

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{np.array2string(self.value, precision=4)} ± {np.array2string(self.error, precision=2)}"
        return f"{float(self.value):.4g} ± {float(self.error):.2g}"


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Different points, (m, d), and positive weights that sum to one.

    Examples
    --------
    >>> sample = WeightedPoints(np.array([[0.0], [1.0], [3.0]]), np.array([0.25, 0.5, 0.25]))
    >>> print(sample.mean)
    [1.25] ± [0.55]
    >>> print(sample.expectation(lambda x: x[:, 0] > 0.5))
    0.75 ± 0.23
    """

    points: Array
    weights: Array

    @classmethod
    @default_errstate()
    def merge(cls, points: Array, weights: Array) -> WeightedPoints:
        """Of any weighted points, with what counts: copies are one point, and points without weight are none.

        If none has weight, there is one point of NaN, and so is every number.
        """
        counts = weights > 0
        if not counts.any():
            return cls(np.full((1, points.shape[1]), np.nan), np.ones(1))
        distinct, copies = np.unique(points[counts], axis=0, return_inverse=True)
        merged = np.bincount(copies.reshape(-1), weights=weights[counts])
        return cls(distinct, merged / merged.sum())

    def expectation(self, function: Callable[[Array], npt.ArrayLike]) -> Estimate:
        """Of a function that takes all points at once and returns a number or an array for each, (m,) or (m, …)."""
        values = np.asarray(function(self.points), dtype=np.float64)
        if values.shape[:1] != self.weights.shape:
            raise ValueError(f"expected the function's values at {len(self.weights)} points, got shape {values.shape}")
        if not np.isfinite(values).all():
            row = np.argwhere(~np.isfinite(values))[0, 0]
            raise ValueError(
                f"expected finite values of the function, got {values[row]} at the point {self.points[row].tolist()}"
            )
        return self._average(values)

    @default_errstate()
    def _average(self, values: Array) -> Estimate:
        mean = np.tensordot(self.weights, values, axes=1)
        return Estimate(mean, np.sqrt(np.tensordot(self.weights**2, (values - mean) ** 2, axes=1)))

    @property
    def mean(self) -> Estimate:
        """The mean of every parameter, (d,)."""
        return self._average(self.points)

    @property
    @default_errstate()
    def cov(self) -> Estimate:
        r"""The covariance matrix, (d, d): of :math:`c_j c_k` with :math:`c = x - \hat\mu`.

        That the mean is estimated too changes the error only in second order.
        """
        centered = self.points - self.mean.value
        cov = (centered * self.weights[:, None]).T @ centered
        squares = self.weights[:, None] ** 2 * centered
        variance = (squares * centered).T @ centered**2 - 2 * cov * (squares.T @ centered)
        return Estimate(cov, np.sqrt(np.maximum(variance + cov**2 * (self.weights @ self.weights), 0.0)))

    def quantile(self, probabilities: npt.ArrayLike) -> Estimate:
        r"""Quantiles of every parameter, (d,) or (k, d) for k probabilities.

        The error is that of the distribution function at the quantile, taken through its inverse (Woodruff, 1952):
        half of :math:`F^{-1}(p + s) - F^{-1}(p - s)`. Close to 0 and 1 it is too small.
        """
        levels = np.asarray(probabilities, dtype=np.float64)
        if levels.ndim > 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"expected a probability, or a list of them, between 0 and 1, got {probabilities!r}")
        columns = [_quantile(column, self.weights, np.atleast_1d(levels)) for column in self.points.T]
        values, errors = np.moveaxis(np.array(columns), 0, -1)
        return Estimate(values, errors) if levels.ndim else Estimate(values[0], errors[0])


@default_errstate()
def _quantile(values: Array, weights: Array, levels: Array) -> tuple[Array, Array]:
    """Quantiles of numbers at these levels, and their errors."""
    order = np.argsort(values, kind="stable")
    below, squares = np.cumsum(weights[order]), np.cumsum(weights[order] ** 2)

    def inverse(level: Array) -> Array:
        rounding = 1e-12  # so that half of four equal weights is two of them
        places = np.searchsorted(below, np.clip(level, 0.0, 1.0) - rounding)
        return np.asarray(values[order[np.minimum(places, len(order) - 1)]])

    quantiles = inverse(levels)
    up_to = squares[np.searchsorted(values[order], quantiles, side="right") - 1]
    spread = np.sqrt(up_to * (1 - levels) ** 2 + (squares[-1] - up_to) * levels**2)
    return quantiles, (inverse(levels + spread) - inverse(levels - spread)) / 2
