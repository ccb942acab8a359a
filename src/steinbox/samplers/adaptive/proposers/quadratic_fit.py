"""A Gaussian from a quadratic fitted to all log-densities: the way from far away."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from steinbox.common.arrays import Array, IntegerArray
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.sparse_quadratic import fit_sparse_quadratic
from steinbox.numerics.weights import normalize, temper
from steinbox.samplers.adaptive.proposer import Draws, Offer, Proposer, View

_MAX_POINTS = 4000  # or twice as many as there are coefficients: more make it slow
_INFLATION = 1.15  # of the covariance: a proposal errs on the wide side
_RIDGE = (1e-8, 1e-4, 1e-3)  # of the constant, of slopes and of products
_MIN_EARNED = 0.5  # of a batch: draws that earn more than others are offered even when weights are even
_TOLERANCE = 1e-7  # of least squares, relative
_MAX_STEPS = 500  # of least squares


@dataclass(frozen=True)
class QuadraticFit(Proposer):
    """While weights are uneven: draws from where a quadratic says the mass must be.

    It uses the log-densities of all points, not only of those that hold the weight. Ablation: without it a correlated
    Gaussian in 30 dimensions is not found with 5,000 evaluations.
    """

    name = "quadratic fit"

    def propose(self, view: View, memory: None, rng: np.random.Generator) -> tuple[Offer, None]:
        if view.tempering == 1 and view.shares.get(self.name, 0.0) < _MIN_EARNED:
            return None, None
        archive = view.archive
        gaussian = fit_gaussian(archive.points, archive.log_prob, archive.log_weights)
        return (None if gaussian is None else Draws(GaussianMixture([gaussian]))), None


def fit_gaussian(points: Array, log_prob: Array, log_weights: Array) -> Gaussian | None:
    r"""The Gaussian whose log-density is a weighted ridge regression of ``log_prob`` on a full quadratic.

    It uses all values, not only those of heavy points, so that it finds the way from far away. Curvatures are kept
    between 0.3 and :math:`10^4` in units of the weighted points' covariance, and the mean moves by at most
    :math:`2 \sqrt d` standard deviations. None if there are too few points to tell the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> log_prob = -0.5 * ((points - 2.0) ** 2).sum(axis=1) / 0.25  # a target that few points come near
    >>> gaussian = fit_gaussian(points, log_prob, log_prob)
    >>> gaussian.mean.round(1)
    array([2., 2.])
    """
    num_points, dimension = points.shape
    num_features = 1 + dimension + dimension * (dimension + 1) // 2
    known = np.isfinite(log_prob)
    is_full = known.sum() >= 1.3 * num_features
    log_weights = np.where(known, log_weights, -np.inf)
    wanted = min(max(1.5 * num_features if is_full else 8 * dimension, 0.3 * num_points), 0.8 * known.sum())
    weights = normalize(temper(log_weights, wanted) * log_weights)
    used = _heaviest(weights, max(_MAX_POINTS, 2 * num_features))
    mean = weights @ points
    centered = points - mean
    covariance = (centered * weights[:, None]).T @ centered
    root = np.diag(np.sqrt(np.diag(covariance) + 1e-300))
    if is_full:
        root = np.linalg.cholesky(covariance + np.diag(0.1 * np.diag(covariance) + 1e-300))
    z = np.linalg.solve(root, centered[used].T).T
    fit = _fit_quadratic if is_full else fit_sparse_quadratic
    fitted = fit(z, log_prob[used], weights[used] / weights[used].sum())
    if fitted is None:
        return None
    slope, curvature = fitted
    values, vectors = np.linalg.eigh(curvature)
    values = np.clip(values, 0.3, 1e4)
    jump = vectors @ ((vectors.T @ slope) / values)
    jump *= min(1.0, 2 * np.sqrt(dimension) / max(float(np.linalg.norm(jump)), 1e-300))
    spread = root @ (vectors / np.sqrt(values))
    return Gaussian(mean + root @ jump, cov=_INFLATION * spread @ spread.T)


def _heaviest(weights: Array, most: int) -> IntegerArray:
    used = np.flatnonzero(weights > 1e-3 / len(weights))
    return np.asarray(used[np.argsort(-weights[used], kind="stable")[:most]])


def _fit_quadratic(z: Array, log_prob: Array, weights: Array) -> tuple[Array, Array]:
    """Slope at the origin and negative curvature of the quadratic."""
    quadratic = _Quadratic(z, np.sqrt(weights))
    values = np.sqrt(weights) * (log_prob - weights @ log_prob)
    solution = lsmr(quadratic.operator, quadratic.pad(values), atol=_TOLERANCE, btol=_TOLERANCE, maxiter=_MAX_STEPS)
    _, slope, products = quadratic.split(solution[0])
    return slope, -(products + products.T)


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """Constants, slopes and products of coordinates, to be fitted by least squares with a little ridge.

    There are as many products as the square of the number of coordinates. As a matrix, with a row for every point, they
    would fill the memory; as a linear map they cost no more than the points times a square matrix.
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
    def operator(self) -> LinearOperator:
        """From coefficients to weighted values, with the ridge's rows below."""
        shape = (len(self.z) + len(self.ridge), len(self.ridge))
        return LinearOperator(shape, matvec=self._values, rmatvec=self._sums, dtype=np.float64)

    def pad(self, values: Array) -> Array:
        """What the ridge's rows should be is zero."""
        return np.concatenate([values, np.zeros(len(self.ridge))])

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
