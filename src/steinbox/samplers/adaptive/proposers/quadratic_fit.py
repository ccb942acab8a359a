"""A Gaussian from a quadratic fitted to all log-densities, full or sparse: the way from far away."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from steinbox.common.arrays import Array, IntegerArray
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.sparse_quadratic import fit_sparse_quadratic
from steinbox.numerics.weights import normalize, temper
from steinbox.samplers.adaptive.proposer import Draws, Offer, Proposer, View

_MAX_POINTS = 4000  # or twice as many as there are coefficients: more make it slow
_INFLATION = 1.15  # of the covariance: a proposal errs on the wide side
_RIDGE = (1e-8, 1e-4, 1e-3)  # of the constant, of slopes and of products
_MAX_FULL_DIMENSION = 40  # up to here there soon are more points than the coefficients of a full quadratic, 861
_MIN_EARNED = 0.5  # of a batch: draws that earn more than others are offered even when weights are even, beyond that
_SPARSE_SHARES = (0.8, 0.3)  # of the points: what weights are tempered to; products are clearest among scattered points
_MAX_DENSE_FEATURES = 600  # coefficients: with more, least squares by steps take less time than by a matrix
_TOLERANCE = 1e-7  # of least squares by steps, relative: 1e-5 may be several nats off
_MAX_STEPS = 500


@dataclass(frozen=True)
class QuadraticFit(Proposer):
    """While weights are uneven, or its draws earn most: draws from where a quadratic says the mass must be.

    It uses the log-densities of all points, not only of those that hold the weight. Ablation: without it a correlated
    Gaussian in 30 dimensions is not found with 5,000 evaluations.
    """

    name = "quadratic fit"

    def propose(
        self, view: View, memory: IntegerArray | None, rng: np.random.Generator
    ) -> tuple[Offer, IntegerArray | None]:
        has_earned = view.archive.dimension > _MAX_FULL_DIMENSION and view.shares.get(self.name, 0.0) > _MIN_EARNED
        if view.tempering == 1 and not has_earned:
            return None, memory
        archive = view.archive
        gaussian, memory = fit_gaussian(archive.points, archive.log_prob, archive.log_weights, memory)
        return (None if gaussian is None else Draws(GaussianMixture([gaussian]))), memory


def fit_gaussian(
    points: Array, log_prob: Array, log_weights: Array, pairs: IntegerArray | None = None
) -> tuple[Gaussian | None, IntegerArray | None]:
    r"""The Gaussian whose log-density is a weighted ridge regression of ``log_prob`` on a quadratic; and its products.

    It uses all values, not only those of heavy points, so that it finds the way from far away. If there are too few to
    tell all coefficients, and more than 40 dimensions, the quadratic is sparse
    (:mod:`steinbox.numerics.sparse_quadratic`), begins with the products ``pairs`` that were found before, and is
    fitted to many of the points and to those near the target; taken is what predicts the latter better. Curvatures are
    kept between 0.3 and :math:`10^4` in units of the weighted points' covariance, and the mean moves by at most
    :math:`2 \sqrt d` standard deviations. None if there are too few points.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> log_prob = -0.5 * ((points - 2.0) ** 2).sum(axis=1) / 0.25  # a target that few points come near
    >>> gaussian, _ = fit_gaussian(points, log_prob, log_prob)
    >>> gaussian.mean.round(1)
    array([2., 2.])
    """
    dimension = points.shape[1]
    num_features = 1 + dimension + dimension * (dimension + 1) // 2
    known = np.isfinite(log_prob)
    log_weights = np.where(known, log_weights, -np.inf)
    if known.sum() >= 1.3 * num_features:
        cloud = _Cloud.of(points, log_weights, max(1.5 * num_features, 0.3 * len(points)), 2 * num_features)
        slope, curvature = _fit_quadratic(cloud.white, log_prob[cloud.used], cloud.weights)
        return cloud.gaussian(slope, curvature), pairs
    if dimension <= _MAX_FULL_DIMENSION:
        return None, pairs
    wide, near = (_Cloud.of(points, log_weights, share * len(points), 0) for share in _SPARSE_SHARES)
    fits = [fit for fit in (_fit_sparse(cloud, log_prob, pairs) for cloud in (wide, near)) if fit is not None]
    if not fits:
        return None, pairs
    best = min(fits, key=lambda fit: fit.error(near, log_prob))
    return best.gaussian(near), np.argwhere(np.triu(best.curvature, 1))


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Points that hold nearly all of the tempered weight, the ``used`` ones of all, and their mean and covariance."""

    points: Array
    used: IntegerArray
    weights: Array
    mean: Array
    root: Array

    @classmethod
    def of(cls, points: Array, log_weights: Array, wanted: float, most: int) -> _Cloud:
        """With weights tempered to the effective sample size that is wanted."""
        weights = normalize(temper(log_weights, min(wanted, 0.8 * np.isfinite(log_weights).sum())) * log_weights)
        used = _heaviest(weights, max(_MAX_POINTS, most))
        mean = weights @ points
        centered = points - mean
        covariance = (centered * weights[:, None]).T @ centered
        root = np.linalg.cholesky(covariance + np.diag(0.1 * np.diag(covariance) + 1e-300))
        return cls(points[used], used, weights[used] / weights[used].sum(), mean, np.asarray(root, dtype=np.float64))

    @property
    def white(self) -> Array:
        """The points in coordinates in which the covariance is the identity."""
        return np.asarray(np.linalg.solve(self.root, (self.points - self.mean).T).T)

    @property
    def scale(self) -> Array:
        """The standard deviations of the coordinates."""
        return np.asarray(np.linalg.norm(self.root, axis=1))

    def gaussian(self, slope: Array, curvature: Array) -> Gaussian:
        """From slope at the mean and negative curvature, both in white coordinates."""
        values, vectors = np.linalg.eigh(curvature)
        values = np.clip(values, 0.3, 1e4)
        jump = vectors @ ((vectors.T @ slope) / values)
        jump *= min(1.0, 2 * np.sqrt(len(jump)) / max(float(np.linalg.norm(jump)), 1e-300))
        spread = self.root @ (vectors / np.sqrt(values))
        return Gaussian(self.mean + self.root @ jump, cov=_INFLATION * spread @ spread.T)


@dataclass(frozen=True, eq=False)
class _SparseFit:
    """A quadratic around a place: slope there and negative curvature."""

    place: Array
    slope: Array
    curvature: Array

    def error(self, cloud: _Cloud, log_prob: Array) -> float:
        """The variance that it leaves unexplained."""
        z = cloud.points - self.place
        rest = log_prob[cloud.used] - z @ self.slope + 0.5 * ((z @ self.curvature) * z).sum(axis=1)
        return float(cloud.weights @ (rest - cloud.weights @ rest) ** 2)

    def gaussian(self, cloud: _Cloud) -> Gaussian:
        """As seen from the mean of these points."""
        slope = self.slope - self.curvature @ (cloud.mean - self.place)
        return cloud.gaussian(cloud.root.T @ slope, cloud.root.T @ self.curvature @ cloud.root)


def _fit_sparse(cloud: _Cloud, log_prob: Array, pairs: IntegerArray | None) -> _SparseFit | None:
    z = (cloud.points - cloud.mean) / cloud.scale
    fitted = fit_sparse_quadratic(z, log_prob[cloud.used], cloud.weights, pairs)
    if fitted is None:
        return None
    return _SparseFit(cloud.mean, fitted[0] / cloud.scale, fitted[1] / np.outer(cloud.scale, cloud.scale))


def _heaviest(weights: Array, most: int) -> IntegerArray:
    used = np.flatnonzero(weights > 1e-3 / len(weights))
    return np.asarray(used[np.argsort(-weights[used], kind="stable")[:most]])


def _fit_quadratic(z: Array, log_prob: Array, weights: Array) -> tuple[Array, Array]:
    """Slope at the origin and negative curvature of the quadratic."""
    quadratic = _Quadratic(z, np.sqrt(weights))
    values = np.sqrt(weights) * (log_prob - weights @ log_prob)
    if len(quadratic.ridge) <= _MAX_DENSE_FEATURES:
        coefficients = quadratic.solve(values)
    else:
        padded = quadratic.pad(values)
        coefficients = scipy.sparse.linalg.lsmr(
            quadratic.operator, padded, atol=_TOLERANCE, btol=_TOLERANCE, maxiter=_MAX_STEPS
        )[0]
    _, slope, products = quadratic.split(coefficients)
    return slope, -(products + products.T)


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """Constants, slopes and products of coordinates, to be fitted by least squares with a little ridge.

    There are as many products as the square of the number of coordinates. In many dimensions a matrix with a row for
    every point would fill the memory; as a linear map they cost no more than the points times a square matrix.
    """

    z: Array
    roots: Array

    @cached_property
    def pairs(self) -> tuple[IntegerArray, IntegerArray]:
        """The later coordinate of a product is not before the earlier."""
        first, second = np.triu_indices(self.z.shape[1])
        return first, second

    @cached_property
    def ridge(self) -> Array:
        """The roots of what is added to the diagonal of the normal equations."""
        return np.asarray(np.sqrt(np.repeat(_RIDGE, [1, self.z.shape[1], len(self.pairs[0])])))

    @property
    def operator(self) -> scipy.sparse.linalg.LinearOperator:
        """From coefficients to weighted values, with the ridge's rows below."""
        shape = (len(self.z) + len(self.ridge), len(self.ridge))
        return scipy.sparse.linalg.LinearOperator(shape, matvec=self._values, rmatvec=self._sums, dtype=np.float64)

    def pad(self, values: Array) -> Array:
        """What the ridge's rows should be is zero."""
        return np.concatenate([values, np.zeros(len(self.ridge))])

    def solve(self, values: Array) -> Array:
        """The coefficients, from the normal equations."""
        first, second = self.pairs
        rows = self.roots[:, None] * np.column_stack(
            [np.ones(len(self.z)), self.z, self.z[:, first] * self.z[:, second]]
        )
        moments = rows.T @ rows
        moments.flat[:: len(moments) + 1] += self.ridge**2
        return np.asarray(np.linalg.solve(moments, rows.T @ values))

    def split(self, coefficients: Array) -> tuple[float, Array, Array]:
        """The constant, the slopes, and the upper triangle of the products' coefficients."""
        dimension = self.z.shape[1]
        products = np.zeros((dimension, dimension))
        products[self.pairs] = coefficients[1 + dimension :]
        return float(coefficients[0]), coefficients[1 : 1 + dimension], products

    def _values(self, coefficients: Array) -> Array:
        constant, slope, products = self.split(coefficients)
        values = constant + self.z @ slope + ((self.z @ products) * self.z).sum(axis=1)
        return np.concatenate([self.roots * values, self.ridge * coefficients])

    def _sums(self, rows: Array) -> Array:
        weighted = self.roots * rows[: len(self.z)]
        squares = (self.z * weighted[:, None]).T @ self.z
        sums = np.concatenate([[weighted.sum()], weighted @ self.z, squares[self.pairs]])
        return np.asarray(sums + self.ridge * rows[len(self.z) :])
