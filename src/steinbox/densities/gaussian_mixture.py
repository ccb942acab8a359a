"""Mixtures of Gaussians: density, score, exact draws and moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from steinbox.common.arrays import Array, RNGLike
from steinbox.common.serialization import serializable
from steinbox.densities.density import repr_mixture
from steinbox.densities.gaussian import Gaussian, cholesky_roots, quasi_random_normal
from steinbox.densities.mixture import normalize_weights
from steinbox.numerics.weights import log_sum_exp, systematic_resample


@serializable("gaussian-mixture")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class GaussianMixture:
    r"""The mixture :math:`\sum_k \pi_k N(\mu_k, \Sigma_k)`.

    Parameters
    ----------
    components : sequence of Gaussian
    weights : (K,) array_like, optional
        Positive; normalized here; equal if not given.

    Attributes
    ----------
    weights : (K,) array
    means : (K, d) array
    covs : (K, d, d) array
    roots : (K, d, d) array
        Lower triangular Cholesky factors of the covariances.

    Examples
    --------
    >>> import numpy as np
    >>> mixture = GaussianMixture([Gaussian(-3.0, std=1.0), Gaussian(3.0, std=1.0)], weights=[1, 3])
    >>> mixture
    <steinbox.GaussianMixture: 2 components in 1 dimension>
    >>> mixture.mean, mixture.score(np.array([[3.0]])).round(6)
    (array([1.5]), array([[-0.]]))
    """

    weights: Array
    means: Array
    covs: Array
    roots: Array

    def __init__(self, components: Sequence[Gaussian], weights: npt.ArrayLike | None = None) -> None:
        if not components or len({component.dimension for component in components}) != 1:
            raise ValueError("GaussianMixture expects at least one component, all of the same dimension")
        object.__setattr__(self, "weights", normalize_weights("GaussianMixture", len(components), weights))
        object.__setattr__(self, "means", np.stack([component.mean for component in components]))
        object.__setattr__(self, "covs", np.stack([component.cov for component in components]))
        object.__setattr__(self, "roots", np.stack([component.root for component in components]))

    @classmethod
    def from_arrays(cls, weights: Array, means: Array, covs: Array) -> GaussianMixture:
        """The mixture of Gaussians with these weights (K,), means (K, d) and symmetric covariances (K, d, d).

        Examples
        --------
        >>> import numpy as np
        >>> GaussianMixture.from_arrays(np.ones(3), np.zeros((3, 2)), np.stack([np.eye(2)] * 3))
        <steinbox.GaussianMixture: 3 components in 2 dimensions>
        """
        number, dimension = means.shape
        if covs.shape != (number, dimension, dimension):
            raise ValueError(
                f"GaussianMixture expects means (K, d) and covs (K, d, d), got shapes {means.shape} and {covs.shape}"
            )
        if not (np.isfinite(means).all() and np.isfinite(covs).all()):
            raise ValueError("GaussianMixture expects finite means and covs; some are NaN or infinite")
        mixture = object.__new__(cls)
        object.__setattr__(mixture, "weights", normalize_weights("GaussianMixture", number, weights))
        object.__setattr__(mixture, "means", means)
        object.__setattr__(mixture, "covs", covs)
        object.__setattr__(mixture, "roots", cholesky_roots(covs))
        return mixture

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return int(self.means.shape[1])

    @property
    def num_components(self) -> int:
        """The number K of Gaussians."""
        return len(self.weights)

    @property
    def is_curved(self) -> bool:
        """Gaussians are not."""
        return False

    @cached_property
    def components(self) -> tuple[Gaussian, ...]:
        """The Gaussians."""
        return tuple(Gaussian(mean, cov=cov) for mean, cov in zip(self.means, self.covs, strict=True))

    @property
    def mean(self) -> Array:
        """The mixture's mean."""
        return np.asarray(self.weights @ self.means)

    @property
    def cov(self) -> Array:
        """The mixture's covariance: within the components plus between them."""
        offsets = self.means - self.mean
        within = np.tensordot(self.weights, self.covs, axes=1)
        return np.asarray(within + (offsets * self.weights[:, None]).T @ offsets)

    def log_prob(self, points: Array) -> Array:
        """Normalized log-density at the rows of ``points``."""
        return log_sum_exp(self.log_terms(points))

    def score(self, points: Array) -> Array:
        """The components' scores, averaged by their responsibilities for each row of ``points``."""
        standard = [self._standardize(points, k) for k in range(self.num_components)]
        log_terms = self._log_terms(np.stack([(each**2).sum(axis=1) for each in standard]))
        shares = np.exp(log_terms - log_sum_exp(log_terms))
        terms = zip(shares, standard, self._inverse_roots, strict=True)
        return np.asarray(-sum(share[:, None] * (each @ inverse_root) for share, each, inverse_root in terms))

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, d)."""
        rng = np.random.default_rng(rng)
        labels = rng.choice(self.num_components, size=num_points, p=self.weights)
        draws = np.empty((num_points, self.dimension))
        for k, (mean, root) in enumerate(zip(self.means, self.roots, strict=True)):
            mine = labels == k
            draws[mine] = mean + rng.standard_normal((int(mine.sum()), self.dimension)) @ root.T
        return draws

    def quasi_random(self, num_points: int, rng: RNGLike = None) -> Array:
        """Draws that fill the mixture more evenly: each component gets its share of them, and a sequence of its own."""
        rng = np.random.default_rng(rng)
        counts = np.bincount(systematic_resample(self.weights, num_points, rng), minlength=self.num_components)
        draws = [
            mean + quasi_random_normal(int(count), self.dimension, rng) @ root.T
            for mean, root, count in zip(self.means, self.roots, counts, strict=True)
            if count
        ]
        return np.concatenate([np.empty((0, self.dimension)), *draws])

    def log_terms(self, points: Array) -> Array:
        """The logarithms of the weighted densities of all components, (K, n)."""
        squares = np.empty((self.num_components, len(points)))
        if self._widths is not None:
            white = self._standardize(points, 0)
            places = self._standardize(self.means, 0)
            for k, width in enumerate(self._widths):
                squares[k] = _squared_lengths(white - places[k]) / width**2
        else:
            for k in range(self.num_components):  # one at a time: all at once would leave the processor's cache
                squares[k] = _squared_lengths(self._standardize(points, k))
        return self._log_terms(squares)

    def responsibilities(self, points: Array) -> Array:
        """Of the components for the rows of ``points``, (n, K)."""
        log_terms = self.log_terms(points)
        return np.asarray(np.exp(log_terms - log_sum_exp(log_terms)).T)

    def scale_components(self, widths: Sequence[float]) -> GaussianMixture:
        """Each component replaced by copies of it, that many times as wide, which share its weight."""
        number = len(widths)
        scales = np.tile(np.square(widths), self.num_components)[:, None, None]
        return GaussianMixture.from_arrays(
            np.repeat(self.weights, number),
            np.repeat(self.means, number, axis=0),
            scales * np.repeat(self.covs, number, axis=0),
        )

    @cached_property
    def _inverse_roots(self) -> Array:
        return np.stack([scipy.linalg.lapack.dtrtri(root, lower=1)[0] for root in self.roots])

    @cached_property
    def _widths(self) -> Array | None:
        """How many times as wide as the first component each is, if covariances differ in nothing else."""
        widths = self.roots[:, 0, 0] / self.roots[0, 0, 0]
        scaled = widths[:, None, None] * self.roots[0]
        return widths if (np.abs(self.roots - scaled) <= 1e-10 * np.abs(scaled)).all() else None

    @cached_property
    def _log_determinants(self) -> Array:
        """Of the roots."""
        return np.asarray(np.log(np.diagonal(self.roots, axis1=1, axis2=2)).sum(axis=1))

    def _standardize(self, points: Array, k: int) -> Array:
        return np.asarray((points - self.means[k]) @ self._inverse_roots[k].T)

    def _log_terms(self, squares: Array) -> Array:
        """From squared distances in standard deviations, (K, n)."""
        log_densities = -0.5 * squares - self._log_determinants[:, None] - 0.5 * self.dimension * np.log(2 * np.pi)
        return np.asarray(log_densities + np.log(self.weights)[:, None])

    def __repr__(self) -> str:
        return repr_mixture(self)


def _squared_lengths(rows: Array) -> Array:
    return np.asarray(np.einsum("nd,nd->n", rows, rows))
