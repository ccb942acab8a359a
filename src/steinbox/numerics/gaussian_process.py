r"""A Gaussian process with a trend: fitting, likelihood, prediction and leave-one-out, for all who need one.

Values v at points :math:`z_1, \dots, z_n` are modeled as

.. math:: v(z) = \phi(z)^\top \beta + g(z), \qquad \operatorname{cov}(g(z), g(z'))
          = s^2 \big(k(z, z') + \eta\, 1_{z = z'}\big),

with a radial kernel :math:`k = f(\|z - z'\|^2 / h)`, the bandwidth h (:math:`2\ell^2` for a Gaussian kernel of
length-scale :math:`\ell`) and the nugget :math:`\eta`. With :math:`K = k(z_i, z_j) + \eta I`, its Cholesky root L, the
trend's features :math:`F = \phi(z_i)^\top` and :math:`M = F^\top K^{-1} F + \lambda I` the fit is that of generalized
least squares (universal kriging; Rasmussen & Williams, 2006, section 2.7),

.. math:: \beta = M^{-1} F^\top K^{-1} v, \quad \alpha = K^{-1} (v - F\beta), \quad
          s^2 = (v - F\beta)^\top \alpha / n ,

and predictions hold the trend where it was estimated (their equations 2.25 and 2.26),

.. math:: \mu(z) = \phi(z)^\top \beta + k(z)^\top \alpha, \qquad
          \sigma^2(z) = s^2 \big(k(z, z) + \eta - \|L^{-1} k(z)\|^2\big) .

A quadratic form :math:`z^\top A z` may be added to g, whose coefficients are independent normal variables: then
:math:`s^2 \tau^2 (z^\top z' / d)^2` is added to its covariance. Unlike features of the trend it is shrunk, costs
nothing in many dimensions, and may have more coefficients than there are values.

The tiny ridge :math:`\lambda` lets the trend have more features than there are points. The process knows nothing of the
user's coordinates: z should be whitened, so that one bandwidth serves all of them.

References
----------
C. E. Rasmussen & C. K. I. Williams (2006). *Gaussian Processes for Machine Learning*. MIT Press.
O. Dubrule (1983). Cross validation of kriging in a unique neighborhood. *Mathematical Geology* 15, 687–699.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
import scipy

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.numerics.kernels import RBF, Kernel
from steinbox.numerics.pairwise import kernel_expansion, kernel_expansion_slopes, squared_distances
from steinbox.numerics.trend import ISOTROPIC_QUADRATIC, Trend

_TREND_RIDGE = 1e-8  # λ, relative to the mean diagonal entry of the moments
_TILE_POINTS = 4096  # points predicted at a time: bounds the memory

GAUSSIAN_KERNEL = RBF()


@serializable("gaussian-process")
@dataclass(frozen=True, eq=False)
class GaussianProcess:
    r"""The process, given its values at ``points``; made by :meth:`fit`.

    Attributes
    ----------
    points : (n, d) array
        Where the values are known.
    trend_coefficients : (q,) array
        The :math:`\beta`.
    coefficients : (n,) array
        The :math:`\alpha`.
    root : (n, n) array or None
        Its lower triangle is the Cholesky root L, its upper one means nothing; None if K is not positive definite in
        rounding. Then K is solved by elimination, the likelihood is zero, and there are no variances.
    residual_square : float
        :math:`(v - F\beta)^\top K^{-1} (v - F\beta)`.
    quadratic_variance : float
        The :math:`\tau^2` of a quadratic form, relative to the process; zero if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.linspace(-2, 2, 9)[:, None]
    >>> process = GaussianProcess.fit(z, np.sin(z[:, 0]), bandwidth=2.0, nugget=1e-8)
    >>> mean, variance = process.predict(np.array([[0.3]]))
    >>> bool(abs(mean[0] - np.sin(0.3)) < 1e-3 and 0 < variance[0] < 1e-3)
    True
    """

    points: Array
    trend_coefficients: Array
    coefficients: Array
    root: Array | None = field(repr=False)
    residual_square: float
    bandwidth: float
    nugget: float
    kernel: Kernel = GAUSSIAN_KERNEL
    trend: Trend = ISOTROPIC_QUADRATIC
    quadratic_variance: float = 0.0

    @classmethod
    def fit(
        cls,
        z: Array,
        values: Array,
        bandwidth: float,
        nugget: float,
        *,
        kernel: Kernel = GAUSSIAN_KERNEL,
        trend: Trend = ISOTROPIC_QUADRATIC,
        quadratic_variance: float = 0.0,
    ) -> GaussianProcess:
        """The process through values (n,) at the points z (n, d)."""
        gram = _gram(z, squared_distances(z, z) / bandwidth, nugget, kernel, quadratic_variance)
        return cls._fit(z, values, gram, bandwidth, nugget, kernel, trend, quadratic_variance)

    @classmethod
    def _fit(
        cls,
        z: Array,
        values: Array,
        gram: Array,
        bandwidth: float,
        nugget: float,
        kernel: Kernel,
        trend: Trend,
        quadratic_variance: float,
    ) -> GaussianProcess:
        features, offset, root = trend.features(z), values.mean(), _cholesky_or_none(gram)
        columns = np.column_stack([features, values - offset])
        solved = (
            np.linalg.solve(gram, columns)
            if root is None
            else scipy.linalg.cho_solve((root, True), columns, check_finite=False)
        )
        normal = features.T @ solved
        beta = np.asarray(np.linalg.solve(_with_ridge(normal[:, :-1]), normal[:, -1]))
        alpha = np.asarray(solved[:, -1] - solved[:, :-1] @ beta)
        beta[0] += offset
        residual_square = float((values - features @ beta) @ alpha)
        return cls(z, beta, alpha, root, residual_square, bandwidth, nugget, kernel, trend, quadratic_variance)

    @property
    def scale(self) -> float:
        """The variance s² of the process, of the largest likelihood."""
        return max(self.residual_square / len(self.points), 0.0)

    def log_likelihood(self, noise: float | None = None) -> float:
        r"""Of the values, up to a constant; with the trend of generalized least squares,

        .. math:: -\tfrac12 \big(n \log s^2 + \log |K| + (v - F\beta)^\top K^{-1} (v - F\beta) / s^2\big).

        Parameters
        ----------
        noise : float, optional
            The standard deviation of the values, if known: then :math:`s^2 = \text{noise}^2 / \eta`. Otherwise
            :math:`s^2` is the most likely one, and the last term a constant, left out.
        """
        if noise is not None:
            variance = noise**2 / self.nugget
            fit = self.residual_square / variance
        elif self.residual_square > 0:
            variance, fit = self.residual_square / len(self.points), 0.0
        else:
            return -np.inf
        return float(-0.5 * (len(self.points) * np.log(variance) + self._log_determinant + fit))

    @property
    def _log_determinant(self) -> float:
        return np.inf if self.root is None else float(2 * np.log(np.diag(self.root)).sum())

    def mean_and_slopes(self, z: Array) -> tuple[Array, Array]:
        """The mean (m,) at the rows of z, and its gradients (m, d)."""
        mean, slopes = kernel_expansion(z, self.points, self.coefficients, self.kernel, self.bandwidth)
        mean = mean + self.trend.features(z) @ self.trend_coefficients
        slopes = slopes + self.trend.slopes(z, self.trend_coefficients)
        if self.quadratic_variance > 0:
            along = z @ self.quadratic_form
            mean, slopes = mean + (along * z).sum(axis=1), slopes + 2 * along
        return mean, slopes

    @cached_property
    def quadratic_form(self) -> Array:
        r"""The predicted matrix A, :math:`\tau^2 d^{-2} \sum_j \alpha_j z_j z_j^\top`."""
        factor = self.quadratic_variance / self.points.shape[1] ** 2
        return np.asarray(factor * (self.points.T * self.coefficients) @ self.points)

    def predict(self, z: Array) -> tuple[Array, Array]:
        """Mean and variance (of a new value, nugget included) at the rows of z."""
        parts = [self._predict(z[start : start + _TILE_POINTS]) for start in range(0, len(z), _TILE_POINTS)]
        mean, variance = (np.concatenate(each) for each in zip(*parts, strict=True))
        return mean, variance

    def _predict(self, z: Array) -> tuple[Array, Array]:
        cross = self.kernel.value(squared_distances(self.points, z) / self.bandwidth)
        cross = cross + _quadratic_covariance(self.points, z, self.quadratic_variance)
        own = 1 + self.quadratic_variance * ((z**2).mean(axis=1)) ** 2
        mean = self.trend.features(z) @ self.trend_coefficients + self.coefficients @ cross
        explained = (
            scipy.linalg.solve_triangular(self._require_root(), cross, lower=True, check_finite=False) ** 2
        ).sum(axis=0)
        return np.asarray(mean), self.scale * np.maximum(own + self.nugget - explained, 0.0)

    def leave_one_out(self) -> tuple[Array, Array]:
        r"""Residuals :math:`v_i - \mu_{-i}` and variances at each point, predicted without its own value,

        .. math:: v_i - \mu_{-i} = \alpha_i / [K^{-1}]_{ii}, \qquad \sigma_{-i}^2 = s^2 / [K^{-1}]_{ii}

        (Rasmussen & Williams, 2006, equation 5.12). Trend and :math:`s^2` stay what they are, as in :meth:`predict`: so
        that the two can be compared. See :attr:`cross_validation` for predictions that owe nothing to the point.
        """
        precision = (self._inverse_root() ** 2).sum(axis=0)
        return self.coefficients / precision, self.scale / precision

    @cached_property
    def cross_validation(self) -> CrossValidation:
        """Predictions at each point by a process that never had it, its trend re-estimated."""
        features, inverse = self.trend.features(self.points), self._inverse()
        solved = inverse @ features
        to_trend = np.asarray(np.linalg.solve(_with_ridge(features.T @ solved), solved.T), dtype=np.float64)
        to_coefficients = inverse - solved @ to_trend
        precision = np.diag(to_coefficients)
        residuals = self.coefficients / precision
        return CrossValidation(residuals, (residuals**2 * precision).mean() / precision, to_coefficients, to_trend)

    def cross_validated_slopes(self, variance_factor: float = 0.0) -> Array:
        r"""Gradients (n, d) at each point of the :math:`\mu_{-i} - c\,\sigma_{-i}^2` of :attr:`cross_validation`.

        Mean and variance have the gradients of a process with coefficients
        :math:`\alpha - (v_i - \mu_{-i}) P_{\cdot i}` and :math:`2 \sigma_{-i}^2 P_{\cdot i}`.
        """
        left_out = self.cross_validation
        change = (left_out.residuals + 2 * variance_factor * left_out.variances)[:, None]
        coefficients = self.coefficients - change * left_out.to_coefficients
        slopes = kernel_expansion_slopes(self.points, coefficients, self.kernel, self.bandwidth)
        if self.quadratic_variance > 0:
            factor = 2 * self.quadratic_variance / self.points.shape[1] ** 2
            slopes = slopes + factor * (coefficients * (self.points @ self.points.T)) @ self.points
        return slopes + self.trend.slopes(self.points, self.trend_coefficients - change * left_out.to_trend.T)

    def _inverse(self) -> Array:
        if self.root is None:
            scaled_distances = squared_distances(self.points, self.points) / self.bandwidth
            gram = _gram(self.points, scaled_distances, self.nugget, self.kernel, self.quadratic_variance)
            return np.asarray(np.linalg.inv(gram))
        inverse_root = self._inverse_root()
        return np.asarray(inverse_root.T @ inverse_root)

    def _inverse_root(self) -> Array:
        root = self._require_root()
        return np.asarray(scipy.linalg.solve_triangular(root, np.eye(len(root)), lower=True, check_finite=False))

    def _require_root(self) -> Array:
        if self.root is None:
            raise ValueError("a process whose covariance is not positive definite has no variances")
        return self.root


@dataclass(frozen=True, eq=False)
class CrossValidation:
    r"""Leave-one-out predictions with the trend re-estimated, all n of them from one inverse (Dubrule, 1983).

    With the matrix :math:`P = K^{-1} - K^{-1} F M^{-1} F^\top K^{-1}`, which takes values to coefficients
    :math:`\alpha = P v`,

    .. math:: v_i - \mu_{-i} = \alpha_i / P_{ii}, \qquad \sigma_{-i}^2 = s^2 / P_{ii},

    here with :math:`s^2` the mean of :math:`(v_i - \mu_{-i})^2 P_{ii}`, which makes the errors as large as predicted.

    Attributes
    ----------
    residuals : (n,) array
        :math:`v_i - \mu_{-i}`.
    variances : (n,) array
        :math:`\sigma_{-i}^2`.
    to_coefficients : (n, n) array
        The matrix P.
    to_trend : (q, n) array
        The matrix :math:`M^{-1} F^\top K^{-1}`, which takes values to the trend's coefficients.
    """

    residuals: Array
    variances: Array
    to_coefficients: Array = field(repr=False)
    to_trend: Array = field(repr=False)


def fit_best(
    z: Array,
    values: Array,
    bandwidths: Iterable[float],
    nuggets: Iterable[float],
    criterion: Callable[[GaussianProcess], float],
    *,
    kernel: Kernel = GAUSSIAN_KERNEL,
    trend: Trend = ISOTROPIC_QUADRATIC,
    quadratic_variances: Iterable[float] = (0.0,),
) -> GaussianProcess:
    """Of the processes with these settings the one with the largest criterion, the first of equals.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.linspace(-3, 3, 30)[:, None]
    >>> fit_best(z, np.sin(3 * z[:, 0]), [0.01, 1.0, 100.0], [1e-6], GaussianProcess.log_likelihood).bandwidth
    1.0
    """
    distances = squared_distances(z, z)
    settings = product(bandwidths, nuggets, quadratic_variances)
    processes = (
        GaussianProcess._fit(
            z,
            values,
            _gram(z, distances / bandwidth, nugget, kernel, quadratic),
            bandwidth,
            nugget,
            kernel,
            trend,
            quadratic,
        )
        for bandwidth, nugget, quadratic in settings
    )
    return max(processes, key=criterion)


def bandwidths_of(length_scales: Iterable[float], dimension: int) -> list[float]:
    r"""The bandwidths :math:`2\ell^2` of length-scales given as :math:`\ell^2 / d`, the size of whitened distances."""
    return [float(2 * scale * dimension) for scale in length_scales]


def _gram(z: Array, scaled_distances: Array, nugget: float, kernel: Kernel, quadratic_variance: float) -> Array:
    """The matrix K."""
    gram = kernel.value(scaled_distances)
    gram[np.diag_indices_from(gram)] += nugget
    return gram + _quadratic_covariance(z, z, quadratic_variance)


def _quadratic_covariance(z: Array, others: Array, quadratic_variance: float) -> Array | float:
    r"""The covariances :math:`\tau^2 (z^\top z' / d)^2` of quadratic forms."""
    return quadratic_variance * (z @ others.T / z.shape[1]) ** 2 if quadratic_variance > 0 else 0.0


def _cholesky_or_none(gram: Array) -> Array | None:
    try:
        return np.asarray(scipy.linalg.cho_factor(gram, lower=True, check_finite=False)[0])
    except np.linalg.LinAlgError:
        return None


def _with_ridge(moments: Array) -> Array:
    """The matrix M, from FᵀK⁻¹F."""
    ridge = _TREND_RIDGE * np.trace(moments) / len(moments)
    return np.asarray(moments + ridge * np.eye(len(moments)))
