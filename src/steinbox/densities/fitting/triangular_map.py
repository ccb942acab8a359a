"""Triangular maps fitted to weighted points, by regression of each coordinate on those before it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, IntegerArray
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.maps.triangular import TriangularMap, multiply_pairs, scale_features

_MARGIN = 0.3  # how far beyond the points the map is curved: of their range, and in log-scale
_MAX_SWEEPS = 5  # of mean and log-variance, fitted in turn
_MIN_STEP = 0.01  # of the log-variance's coefficients: smaller ones end the sweeps
_MAX_LOG_VARIANCE_OFFSET = 8.0  # of one coordinate's log-variances from their mean
_MAX_POINTS_FOR_ORDER = 500
_MAX_ENTRIES_FOR_ORDER = 40_000  # numbers at once: more would leave the processor's cache
_NUM_SWEEPS_FOR_ORDER = 3  # of the log-variance
_RIDGE_FOR_ORDER = 1e-6  # of slopes, in standardized coordinates


def fit_triangular_map(
    sample: WeightedPoints, *, curved: bool, pseudo_points: float = 0.5, order: IntegerArray | None = None
) -> TriangularMap:
    r"""The map that makes weighted points as white as it can; affine if not ``curved``.

    Those products enter the means, and those coordinates the log-scales, that are significant: in standard errors,
    above the universal threshold :math:`\sqrt{2 \log F}` of F candidates, so that pure noise seldom passes. Slopes are
    shrunk to zero by ``pseudo_points``. The order of the coordinates is found if it is not given.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import Banana
    >>> points = Banana().sample(1000, np.random.default_rng(0))
    >>> curve = fit_triangular_map(WeightedPoints(points, np.full(1000, 1e-3), 1000), curved=True)
    >>> u = curve.forward(points)
    >>> np.allclose(np.cov(u.T), np.eye(2), atol=0.02), np.allclose(curve.inverse(u), points)
    (True, True)
    """
    points, weights = sample.points, sample.weights
    center = weights @ points
    scale = np.sqrt(weights @ (points - center) ** 2) + 1e-300
    z = (points - center) / scale
    if order is None:
        order = _find_order(z, weights, sample.effective_sample_size) if curved else np.arange(z.shape[1])
    z = z[:, order]
    regression = _Regression(weights, sample.effective_sample_size, pseudo_points, z.shape[1])
    fits, residuals = _fit_straight(z, regression)
    if curved and len(fits) > 1:
        scales, products = _scale_candidates(z, regression), _product_candidates(z, regression)
        for k in _uneven_or_bent(residuals, scales, products, regression):
            fits[k] = _fit_curved(z, residuals, k, scales, products, regression)
    return _assemble(fits, z, order, center, scale)


@dataclass(frozen=True, eq=False)
class _Conditional:
    """One coordinate given those before it: coefficients of the mean and of the log-variance.

    The mean's are of 1, the coordinates before and the pairs; the log-variance's of 1 and the scale predictors, which
    count coordinates from 0 and their squares from d.
    """

    mean: Array
    pairs: list[tuple[int, ...]]
    log_variance: Array
    scale_predictors: list[int]


def _assemble(fits: list[_Conditional], z: Array, order: IntegerArray, center: Array, scale: Array) -> TriangularMap:
    dimension = len(fits)
    pairs = np.array(sorted({pair for fit in fits for pair in fit.pairs}), dtype=np.int64).reshape(-1, 2)
    rows = {tuple(pair): row for row, pair in enumerate(pairs.tolist())}
    linear, products = np.zeros((1 + dimension, dimension)), np.zeros((len(pairs), dimension))
    log_scales = np.zeros((1 + 2 * dimension, dimension))
    for k, fit in enumerate(fits):
        linear[: 1 + k, k] = fit.mean[: 1 + k]
        products[[rows[pair] for pair in fit.pairs], k] = fit.mean[1 + k :]
        log_scales[[0, *(1 + column for column in fit.scale_predictors)], k] = 0.5 * fit.log_variance
    low, high = z.min(axis=0), z.max(axis=0)
    margin = _MARGIN * (high - low)
    seen = scale_features(z) @ log_scales
    narrowest, widest = seen.min(axis=0) - _MARGIN, seen.max(axis=0) + _MARGIN
    return TriangularMap(
        order, center, scale, low - margin, high + margin, pairs, linear, products, log_scales, narrowest, widest
    )


def _fit_straight(z: Array, regression: _Regression) -> tuple[list[_Conditional], Array]:
    """Linear means and one variance each, and the residuals: all regressions at once, by one factorization."""
    moments = (z * regression.weights[:, None]).T @ z
    root = np.linalg.cholesky(moments + regression.pseudo_points / regression.num_points * np.eye(len(moments)))
    slopes = np.linalg.inv(root / np.diag(root))  # in its k-th row, a one and the negative slopes
    residuals = z @ slopes.T
    log_variances = np.log(regression.weights @ residuals**2 + 1e-12)
    fits = [_Conditional(np.append(0.0, -slopes[k, :k]), [], log_variances[k : k + 1], []) for k in range(len(slopes))]
    return fits, residuals


def _uneven_or_bent(residuals: Array, scales: _Candidates, products: _Candidates, regression: _Regression) -> list[int]:
    """Coordinates whose residuals have a scale or a mean that some candidate predicts: others need no closer look."""
    of_scale = regression.signals(scales, regression.log_squares(residuals))
    of_mean = regression.signals(products, residuals)
    return [
        k
        for k in range(1, residuals.shape[1])
        if of_scale[k, : scales.number_before(k)].max() >= regression.threshold(scales.number_before(k))
        or of_mean[k, : products.number_before(k)].max() >= regression.threshold(products.number_before(k))
    ]


def _fit_curved(
    z: Array, residuals: Array, k: int, scales: _Candidates, products: _Candidates, regression: _Regression
) -> _Conditional:
    """A mean with products, and a variance that other coordinates predict.

    Scale predictors are looked for first, since uneven residuals would hide products; and then again, since residuals
    of a parabola that was not known look uneven.
    """
    value, scales, products = z[:, k], scales.before(k), products.before(k)
    features = np.column_stack([np.ones(len(z)), z[:, :k]])
    predictors = regression.significant(scales, regression.log_squares(residuals[:, k]))
    if predictors:
        mean, log_variance = regression.heteroscedastic(features, value, scales.columns(predictors))
        spread = np.exp(-0.5 * scales.columns(predictors) @ log_variance)
        evened = _Candidates.of(products.values * spread[:, None], products.factors, regression)
        found = regression.significant(evened, (value - features @ mean) * spread)
    else:
        found = regression.significant(products, residuals[:, k])
    if found:
        features = np.column_stack([features, products.values[:, found]])
        residual = value - features @ regression.fit(features, value)
        predictors = regression.significant(scales, regression.log_squares(residual))
    mean, log_variance = regression.heteroscedastic(features, value, scales.columns(predictors))
    log_variance[0] += np.log1p(len(found) / regression.num_points)
    pairs = [products.factors[each] for each in found]
    is_square = [len(scales.factors[each]) - 1 for each in predictors]
    columns = [
        scales.factors[each][0] + z.shape[1] * square for each, square in zip(predictors, is_square, strict=True)
    ]
    return _Conditional(mean, pairs, log_variance, columns)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """What may explain a coordinate: products of some coordinates before it, the ``factors``.

    They are in the order of the last factor, so that those before any coordinate come first, and all is computed once;
    clipped, and their squares, as :meth:`_Regression.significant` wants them.
    """

    factors: list[tuple[int, ...]]
    values: Array
    clipped: Array
    squares: Array

    @classmethod
    def of(cls, values: Array, factors: list[tuple[int, ...]], regression: _Regression) -> _Candidates:
        """Values of products of these factors."""
        clipped = _single(regression.clip(values))
        return cls(factors, values, clipped, clipped**2)

    def number_before(self, k: int) -> int:
        """How many have factors among the first k coordinates only."""
        return bisect_left(self.factors, k, key=lambda factors: factors[-1])

    def before(self, k: int) -> _Candidates:
        """Those of the first k coordinates."""
        number = self.number_before(k)
        return _Candidates(
            self.factors[:number], self.values[:, :number], self.clipped[:, :number], self.squares[:, :number]
        )

    def columns(self, which: list[int]) -> Array:
        """Some of the values, after a column of ones."""
        return np.column_stack([np.ones(len(self.values)), self.values[:, which]])


def _scale_candidates(z: Array, regression: _Regression) -> _Candidates:
    """The coordinates and their squares, but for the last coordinate, which explains no other."""
    factors: list[tuple[int, ...]] = [factors for k in range(z.shape[1] - 1) for factors in ((k,), (k, k))]
    values = np.stack([z[:, :-1], z[:, :-1] ** 2], axis=2).reshape(len(z), -1)
    return _Candidates.of(values, factors, regression)


def _product_candidates(z: Array, regression: _Regression) -> _Candidates:
    """The products of two coordinates, but for the last coordinate."""
    pairs = [(first, second) for second in range(z.shape[1] - 1) for first in range(second + 1)]
    return _Candidates.of(multiply_pairs(z, np.array(pairs, dtype=np.int64)), [*pairs], regression)


@dataclass(frozen=True, eq=False)
class _Regression:
    """Weighted least squares with a little ridge, and what is significant in it."""

    weights: Array
    num_points: float
    pseudo_points: float
    num_coordinates: int

    def fit(self, features: Array, values: Array, precisions: Array | None = None) -> Array:
        """Coefficients; the first feature is the constant, which is not shrunk to zero."""
        weighted, moments = self._moments(features, self.weights if precisions is None else precisions)
        return np.asarray(np.linalg.solve(moments, weighted @ values))

    def _moments(self, features: Array, weights: Array) -> tuple[Array, Array]:
        """The features times the weights, and the matrix of the normal equations."""
        weighted = (features * weights[:, None]).T
        moments = weighted @ features
        moments.flat[:: len(moments) + 1] += self.pseudo_points / self.num_points
        moments[0, 0] -= self.pseudo_points / self.num_points
        return weighted, moments

    def heteroscedastic(self, features: Array, values: Array, columns: Array) -> tuple[Array, Array]:
        """Mean and log-variance fitted in turn: weighted least squares, and Fisher's scoring."""
        mean = self.fit(features, values)
        squares = (values - features @ mean) ** 2
        if columns.shape[1] == 1:
            return mean, np.log([self.weights @ squares + 1e-12])
        weighted, moments = self._moments(columns, self.weights)
        regress = np.asarray(np.linalg.solve(moments, weighted), dtype=np.float64)  # the same in all sweeps
        log_variance = regress @ np.log(squares + 1e-6)
        for _ in range(_MAX_SWEEPS):
            level = columns @ log_variance
            level = np.clip(level - self.weights @ level, -_MAX_LOG_VARIANCE_OFFSET, _MAX_LOG_VARIANCE_OFFSET)
            evening = np.exp(-level)
            precisions = self.weights * evening
            mean = self.fit(features, values, precisions / precisions.sum())
            ratios = (values - features @ mean) ** 2 * evening
            ratios /= self.weights @ ratios + 1e-300
            step = regress @ np.clip(ratios - 1, -1, 5)
            log_variance = log_variance + step
            if np.abs(step).max() < _MIN_STEP:
                break
        squares = (values - features @ mean) ** 2
        log_variance[0] += np.log(self.weights @ (squares * np.exp(-columns @ log_variance)) + 1e-12)
        return mean, log_variance

    def log_squares(self, residuals: Array) -> Array:
        """The logarithms of the squares, by which the size of residuals is explained."""
        squares = residuals**2
        return np.asarray(np.log(squares / (self.weights @ squares + 1e-300) + 1e-3))

    def significant(self, candidates: _Candidates, response: Array) -> list[int]:
        """Candidates that the response depends on, the clearest first, each beyond what those before it explain."""
        found = list[int]()
        threshold = self.threshold(len(candidates.factors))
        centered = response - self.weights @ response
        residual = centered
        while len(found) < self.num_points / 10:
            signal = self.signals(candidates, residual[:, None])[0]
            signal[found] = 0.0
            if signal.max() < threshold:
                break
            found.append(int(np.argmax(signal)))
            columns = candidates.columns(found)
            residual = centered - columns @ self.fit(columns, centered)
        return found

    def signals(self, candidates: _Candidates, responses: Array) -> Array:
        """How clearly each response depends on each candidate: their covariance, in standard errors from zero.

        Those hold for uneven residuals too (White, 1980), and all is cut off at a standard deviation, or a few large
        values would drown the rest.
        """
        rest = self.clip(responses)
        spread = np.sqrt(_single(self.weights[:, None] * rest**2).T @ candidates.squares) + 1e-30
        return np.asarray(
            np.sqrt(self.num_points) * np.abs(_single(self.weights[:, None] * rest).T @ candidates.clipped) / spread
        )

    def threshold(self, num_candidates: int) -> float:
        """Of signals: what noise seldom passes."""
        return float(np.sqrt(2 * np.log(max(num_candidates * self.num_coordinates, 3))))

    def clip(self, values: Array) -> Array:
        """Columns centered, cut off at a standard deviation, and centered again."""
        centered = values - self.weights @ values
        spread = np.sqrt(self.weights @ centered**2)
        np.clip(centered, -spread, spread, out=centered)
        centered -= self.weights @ centered
        return centered


# -- the order of the coordinates --------------------------------------------------------------------------------------


def _find_order(z: Array, weights: Array, num_points: float) -> IntegerArray:
    """Those that explain others come before those that are explained (ranked pairs; Tideman, 1987).

    Pairs are settled in the order of how much better one direction explains than the other; what would close a circle
    is left out.
    """
    stride = -(-len(z) // _MAX_POINTS_FOR_ORDER)
    z, weights = _single(z[::stride]), _single(weights[::stride] / weights[::stride].sum())
    number = max(1, _MAX_ENTRIES_FOR_ORDER // z.size)
    starts = range(0, z.shape[1], number)
    gains = np.concatenate([_gains(z, weights, z[:, start : start + number].T) for start in starts])
    np.fill_diagonal(gains, 0.0)
    gains = np.maximum(gains - 2 / num_points, 0.0)
    better = gains - gains.T
    before = np.zeros_like(better, dtype=bool)
    for flat in np.argsort(-better, axis=None, kind="stable"):
        first, second = np.unravel_index(flat, better.shape)
        if better[first, second] <= 0:
            break
        if not before[second, first]:
            ahead, behind = before[:, first].copy(), before[second].copy()
            ahead[first], behind[second] = True, True
            before |= np.outer(ahead, behind)
    return np.asarray(np.argsort(before.sum(axis=0), kind="stable"))


def _gains(z: Array, weights: Array, explaining: Array) -> Array:
    """How many nats better than by a line some coordinates explain each other by a parabola and an uneven scale.

    Those that explain are (m, n), and the gains (m, d); all are regressed on each of them at once.
    """
    parabola = np.stack([np.ones_like(explaining), explaining, explaining**2], axis=2)
    line = parabola[:, :, :2]
    straight = weights @ (z - line @ _slopes(line, weights, z)) ** 2 + 1e-12
    squares = (z - parabola @ _slopes(parabola, weights, z)) ** 2 + 1e-12
    level = line @ _slopes(line, weights, np.log(squares))
    for _ in range(_NUM_SWEEPS_FOR_ORDER):
        level -= (weights @ level)[:, None]
        level = np.clip(level, -_MAX_LOG_VARIANCE_OFFSET, _MAX_LOG_VARIANCE_OFFSET, out=level)
        ratios = squares * np.exp(-level)
        ratios /= (weights @ ratios)[:, None]
        ratios -= 1
        level += line @ _slopes(line, weights, np.clip(ratios, -1, 5, out=ratios))
    mean_level = weights @ level + np.log(weights @ (squares * np.exp(-level)))
    return np.asarray(0.5 * (np.log(straight) - mean_level))


def _slopes(features: Array, weights: Array, values: Array) -> Array:
    """Weighted least squares of values on each of a stack of features (m, n, f), with next to no ridge."""
    weighted = (features * weights[:, None]).swapaxes(1, 2)
    ridge = np.diag([0.0] + [_RIDGE_FOR_ORDER] * (features.shape[2] - 1))
    return _single(np.asarray(np.linalg.solve(weighted @ features + ridge, weighted @ values)))


def _single(values: npt.NDArray[Any]) -> Array:
    """In single precision: enough to compare, and exponentials take a quarter of the time."""
    return np.asarray(values, dtype=np.float32)
