r"""Gaussian mixtures fitted to weighted points: expectation-maximization with shrinkage.

All covariances are shrunk to simpler ones by as much as so few points warrant, and widened to those of the predictive
distribution, so that a mixture makes a good proposal: it errs on the wide side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.maps.bijection import Bijection
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.weights import systematic_resample

_NUM_ITERATIONS = 15
_NUM_KMEANS_ITERATIONS = 8
PSEUDO_POINTS = 0.5  # by which slopes and correlations are shrunk to zero; added to every component's count


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Points (m, d), weights (m,) that sum to one, and how many independent points they are worth."""

    points: Array
    weights: Array
    effective_sample_size: float

    def part(self, rows: IntegerArray, share: float) -> WeightedPoints:
        """Some of the points, worth this share of all."""
        weights = self.weights[rows] / self.weights[rows].sum()
        return WeightedPoints(self.points[rows], weights, share * self.effective_sample_size)

    def transform(self, map_: Bijection) -> WeightedPoints:
        """Their images, with the same weights."""
        return replace(self, points=map_.forward(self.points))

    def at_most(self, num_points: int, rng: np.random.Generator) -> WeightedPoints:
        """Systematically resampled to so many, each once and with its count as weight."""
        if len(self.points) <= num_points:
            return self
        kept, counts = np.unique(systematic_resample(self.weights, num_points, rng), return_counts=True)
        return WeightedPoints(self.points[kept], counts / counts.sum(), self.effective_sample_size)


def fit_mixture(
    sample: WeightedPoints,
    num_components: int,
    rng: np.random.Generator,
    *,
    tied: bool = False,
    start: Array | None = None,
) -> GaussianMixture:
    """The mixture of so many Gaussians, with one covariance for all of them if ``tied``.

    It starts from the responsibilities ``start``, (m, K), or from clusters found by weighted k-means.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> points = np.concatenate([rng.normal(-4, 1, (300, 1)), rng.normal(4, 1, (100, 1))])
    >>> mixture = fit_mixture(WeightedPoints(points, np.full(400, 1 / 400), 400), 2, rng)
    >>> mixture.weights[np.argsort([component.mean[0] for component in mixture.components])].round(2)
    array([0.75, 0.25])
    """
    if num_components == 1:
        responsibilities = np.ones((len(sample.points), 1))
        return _maximize(sample, responsibilities, tied).inflate(sample.effective_sample_size, tied)
    responsibilities = _find_clusters(sample, num_components, rng) if start is None else start
    for _ in range(_NUM_ITERATIONS):
        step = _maximize(sample, responsibilities, tied)
        responsibilities = step.mixture.responsibilities(sample.points)
    return step.inflate(sample.effective_sample_size, tied)


# -- expectation and maximization --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Step:
    """Counts, means and covariances of the components."""

    counts: Array
    means: Array
    covs: Array

    @property
    def mixture(self) -> GaussianMixture:
        return GaussianMixture.from_arrays(self.counts + PSEUDO_POINTS, self.means, self.covs)

    def inflate(self, num_points: float, tied: bool) -> GaussianMixture:
        """With the covariances of the predictive distribution, which knows that means and covariances are estimates."""
        dimension = self.means.shape[1]
        pseudo = 0 if len(self.counts) == 1 else dimension + 2
        counts = np.full(len(self.counts), num_points) if tied else self.counts + pseudo
        factors = 1 + (dimension + 1) / (counts + dimension)
        return _Step(self.counts, self.means, self.covs * factors[:, None, None]).mixture


def _maximize(sample: WeightedPoints, responsibilities: Array, tied: bool) -> _Step:
    """The components for these responsibilities."""
    points, (_, dimension) = sample.points, sample.points.shape
    shares = responsibilities * (sample.effective_sample_size * sample.weights)[:, None]
    counts = shares.sum(axis=0) + 1e-9
    means = (shares.T @ points + 1e-6 * sample.weights @ points) / (counts + 1e-6)[:, None]
    scatters = np.stack([_scatter(points - mean, share) for mean, share in zip(means, shares.T, strict=True)])
    pseudo_points = PSEUDO_POINTS * dimension
    shrinkage = pseudo_points / (sample.effective_sample_size + pseudo_points)
    pooled = _shrink_to_diagonal(scatters.sum(axis=0) / sample.effective_sample_size, shrinkage)
    if tied or len(counts) == 1:
        return _Step(counts, means, np.repeat(pooled[None], len(counts), axis=0))
    return _Step(counts, means, _shrink_covariances(scatters, counts, pooled))


def _scatter(centered: Array, share: Array) -> Array:
    return np.asarray((centered * share[:, None]).T @ centered)


def _shrink_to_diagonal(covariance: Array, shrinkage: float) -> Array:
    variances = np.diag(np.diag(covariance) + 1e-300)
    return np.asarray((1 - shrinkage) * covariance + (shrinkage + 1e-10) * variances)


def _shrink_covariances(scatters: Array, counts: Array, pooled: Array) -> Array:
    """Each drawn, by d + 2 pseudo-points, to its own variances along axes in which the pooled one is white."""
    dimension = len(pooled)
    root = np.linalg.cholesky(pooled)
    inverse = np.linalg.inv(root)
    variances = ((inverse @ scatters) * inverse).sum(axis=2)
    typical = np.maximum(variances / counts[:, None], 1e-8).mean(axis=1)
    variances = (variances + 2 * typical[:, None]) / (counts + 2)[:, None]
    simple = (root * variances[:, None, :]) @ root.T
    pseudo = dimension + 2
    return np.asarray((scatters + pseudo * simple) / (counts + pseudo)[:, None, None])


def _find_clusters(sample: WeightedPoints, num_components: int, rng: np.random.Generator) -> Array:
    """Weighted k-means in whitened coordinates from well separated centers (k-means++), as responsibilities."""
    z = _whiten(sample)
    centers = [z[rng.choice(len(z), p=sample.weights)]]
    for _ in range(num_components - 1):
        chances = squared_distances(z, np.array(centers)).min(axis=1) * sample.weights
        chances = chances if chances.sum() > 0 else sample.weights
        centers.append(z[rng.choice(len(z), p=chances / chances.sum())])
    places = np.array(centers)
    for _ in range(_NUM_KMEANS_ITERATIONS):
        labels = squared_distances(z, places).argmin(axis=1)
        shares = np.eye(num_components)[labels] * sample.weights[:, None]
        masses = shares.sum(axis=0)
        places = np.where(masses[:, None] > 0, shares.T @ z / np.maximum(masses, 1e-300)[:, None], places)
    return np.asarray(np.eye(num_components)[labels])


def _whiten(sample: WeightedPoints) -> Array:
    centered = sample.points - sample.weights @ sample.points
    covariance = _shrink_to_diagonal(_scatter(centered, sample.weights), 1e-3)
    return np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), centered.T).T)
