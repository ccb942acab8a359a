"""Triangular maps fitted to weighted points, by regression of each coordinate on those before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.densities.fitting.em import WeightedPoints
from steinbox.maps.triangular import TriangularMap, multiply_pairs, scale_features

_MARGIN = 0.3  # how far beyond the points the map is curved: of their range, and in log-scale
_NUM_SWEEPS = 5  # of mean and log-variance, fitted in turn
_MAX_LOG_VARIANCE_OFFSET = 8.0  # of one coordinate's log-variances from their mean
_MAX_POINTS_FOR_ORDER = 500


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
    fits = _fit_straight(z[:, :1] if curved else z, regression)
    if curved:
        products = _Products.of(z, regression)
        fits += [_fit_curved(z, k, products, regression) for k in range(1, z.shape[1])]
    return _assemble(fits, z, order, center, scale)


@dataclass(frozen=True, eq=False)
class _Conditional:
    """One coordinate given those before it: coefficients of the mean and of the log-variance.

    The mean's are of 1, the coordinates before and the pairs; the log-variance's of 1 and the scale predictors, which
    count coordinates from 0 and their squares from d.
    """

    mean: Array
    pairs: list[tuple[int, int]]
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


def _fit_straight(z: Array, regression: _Regression) -> list[_Conditional]:
    """Linear means and one variance each: all regressions of centered points at once, by one factorization."""
    moments = (z * regression.weights[:, None]).T @ z
    root = np.linalg.cholesky(moments + regression.pseudo_points / regression.num_points * np.eye(len(moments)))
    residuals = np.linalg.inv(root / np.diag(root))  # in its k-th row, a one and the negative slopes
    variances = regression.weights @ (z @ residuals.T) ** 2
    return [
        _Conditional(np.append(0.0, -residuals[k, :k]), [], np.log([variances[k] + 1e-12]), [])
        for k in range(len(residuals))
    ]


def _fit_curved(z: Array, k: int, products: _Products, regression: _Regression) -> _Conditional:
    """A mean with products, and a variance that other coordinates predict.

    Scale predictors are looked for first, since uneven residuals would hide products; and then again, since residuals
    of a parabola that was not known look uneven.
    """
    value, before = z[:, k], z[:, :k]
    products, scales = products.before(k), scale_features(before)
    features = np.column_stack([np.ones(len(z)), before])
    mean = regression.fit(features, value)
    predictors = regression.scale_predictors(scales, value - features @ mean)
    if predictors:
        mean, log_variance = regression.heteroscedastic(features, value, scales[:, [0, *predictors]])
        spread = np.exp(-0.5 * scales[:, [0, *predictors]] @ log_variance)
        found = regression.significant(products.values * spread[:, None], (value - features @ mean) * spread)
    else:
        found = regression.significant(products.values, value - features @ mean, products.clipped)
    if found:
        features = np.column_stack([features, products.values[:, found]])
        predictors = regression.scale_predictors(scales, value - features @ regression.fit(features, value))
    mean, log_variance = regression.heteroscedastic(features, value, scales[:, [0, *predictors]])
    log_variance[0] += np.log1p(len(found) / regression.num_points)
    pairs = [products.pairs[each] for each in found]
    return _Conditional(mean, pairs, log_variance, [d - 1 if d <= k else d - 1 - k + z.shape[1] for d in predictors])


@dataclass(frozen=True, eq=False)
class _Products:
    """Products of pairs of coordinates, and the same clipped as :meth:`_Regression.significant` wants them.

    Pairs are in the order of the later coordinate, so that those before any coordinate come first, and all is computed
    once.
    """

    pairs: list[tuple[int, int]]
    values: Array
    clipped: Array

    @classmethod
    def of(cls, z: Array, regression: _Regression) -> _Products:
        """Of all but the last coordinate, which explains no other."""
        pairs = [(first, second) for second in range(z.shape[1] - 1) for first in range(second + 1)]
        values = multiply_pairs(z, np.array(pairs, dtype=np.int64).reshape(-1, 2))
        return cls(pairs, values, regression.clip(values))

    def before(self, k: int) -> _Products:
        """Those of the first k coordinates."""
        number = k * (k + 1) // 2
        return _Products(self.pairs[:number], self.values[:, :number], self.clipped[:, :number])


@dataclass(frozen=True, eq=False)
class _Regression:
    """Weighted least squares with a little ridge, and what is significant in it."""

    weights: Array
    num_points: float
    pseudo_points: float
    num_coordinates: int

    def fit(self, features: Array, values: Array, precisions: Array | None = None) -> Array:
        """Coefficients; the first feature is the constant, which is not shrunk to zero."""
        weights = self.weights if precisions is None else precisions
        weighted = (features * weights[:, None]).T
        moments = weighted @ features
        moments.flat[:: len(moments) + 1] += self.pseudo_points / self.num_points
        moments[0, 0] -= self.pseudo_points / self.num_points
        return np.asarray(np.linalg.solve(moments, weighted @ values))

    def heteroscedastic(self, features: Array, values: Array, columns: Array) -> tuple[Array, Array]:
        """Mean and log-variance fitted in turn: weighted least squares, and Fisher's scoring."""
        mean = self.fit(features, values)
        log_variance = self.fit(columns, np.log((values - features @ mean) ** 2 + 1e-6))
        for _ in range(_NUM_SWEEPS if columns.shape[1] > 1 else 0):
            level = columns @ log_variance
            level = np.clip(
                level, self.weights @ level - _MAX_LOG_VARIANCE_OFFSET, self.weights @ level + _MAX_LOG_VARIANCE_OFFSET
            )
            precisions = self.weights * np.exp(self.weights @ level - level)
            mean = self.fit(features, values, precisions / precisions.sum())
            ratios = (values - features @ mean) ** 2 * np.exp(-level)
            ratios /= self.weights @ ratios + 1e-300
            log_variance = log_variance + self.fit(columns, np.clip(ratios - 1, -1, 5))
        squares = (values - features @ mean) ** 2
        log_variance[0] += np.log(self.weights @ (squares * np.exp(-columns @ log_variance)) + 1e-12)
        return mean, log_variance

    def scale_predictors(self, scales: Array, residual: Array) -> list[int]:
        """Which columns, but the constant, the size of the residual depends on."""
        squares = residual**2
        found = self.significant(scales[:, 1:], np.log(squares / (self.weights @ squares + 1e-300) + 1e-3))
        return [1 + each for each in found]

    def significant(self, candidates: Array, response: Array, clipped: Array | None = None) -> list[int]:
        """Columns that the response depends on, the clearest first, each beyond what those before it explain.

        Clear is a covariance many standard errors from zero. They hold for uneven residuals too (White, 1980), and all
        is cut off at a standard deviation, or a few large values would drown the rest.
        """
        found = list[int]()
        clipped = self.clip(candidates) if clipped is None else clipped
        squares = clipped**2
        threshold = np.sqrt(2 * np.log(max(candidates.shape[1] * self.num_coordinates, 3)))
        centered = response - self.weights @ response
        residual = centered
        while len(found) < self.num_points / 10:
            rest = self.clip(residual[:, None])[:, 0]
            spread = np.sqrt((self.weights * rest**2) @ squares) + 1e-300
            signal = np.sqrt(self.num_points) * np.abs((self.weights * rest) @ clipped) / spread
            signal[found] = 0.0
            if signal.max() < threshold:
                break
            found.append(int(np.argmax(signal)))
            columns = np.column_stack([np.ones(len(centered)), candidates[:, found]])
            residual = centered - columns @ self.fit(columns, centered)
        return found

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
    z, weights = z[::stride], weights[::stride] / weights[::stride].sum()
    gains = np.maximum(np.array([_gains(z, weights, k) for k in range(z.shape[1])]) - 2 / num_points, 0.0)
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


def _gains(z: Array, weights: Array, k: int) -> Array:
    """How many nats better than by a line the k-th coordinate explains each other by a parabola and an uneven scale."""
    regression = _Regression(weights, 1e6, 1.0, z.shape[1])
    line = np.column_stack([np.ones(len(z)), z[:, k]])
    parabola = np.column_stack([line, z[:, k] ** 2])
    straight = weights @ (z - line @ regression.fit(line, z)) ** 2 + 1e-12
    squares = (z - parabola @ regression.fit(parabola, z)) ** 2 + 1e-12
    level = line @ regression.fit(line, np.log(squares))
    for _ in range(3):
        level += np.log(weights @ (squares * np.exp(-level)))
        middle = weights @ level
        level = np.clip(level, middle - _MAX_LOG_VARIANCE_OFFSET, middle + _MAX_LOG_VARIANCE_OFFSET)
        level += line @ regression.fit(line, np.clip(squares * np.exp(-level) - 1, -1, 5))
    level += np.log(weights @ (squares * np.exp(-level)))
    gains = 0.5 * (np.log(straight) - weights @ level)
    gains[k] = 0.0
    return np.asarray(gains)
