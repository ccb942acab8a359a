"""Mixtures of Gaussians: density, score, exact draws and moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.mixture import normalize_weights
from steinbox.numerics.quasi_random import quasi_random_normal
from steinbox.numerics.weights import log_sum_exp, systematic_resample


@serializable("gaussian-mixture")
@dataclass(frozen=True, init=False, eq=False)
class GaussianMixture:
    r"""The mixture :math:`\sum_k \pi_k N(\mu_k, \Sigma_k)`.

    Parameters
    ----------
    components : sequence of Gaussian
    weights : (K,) array_like, optional
        Positive; normalised here; equal if not given.

    Examples
    --------
    >>> import numpy as np
    >>> mixture = GaussianMixture([Gaussian(-3.0, std=1.0), Gaussian(3.0, std=1.0)], weights=[1, 3])
    >>> mixture.mean, mixture.score(np.array([[3.0]])).round(6)
    (array([1.5]), array([[-0.]]))
    """

    components: tuple[Gaussian, ...]
    weights: Array

    def __init__(self, components: Sequence[Gaussian], weights: npt.ArrayLike | None = None) -> None:
        components = tuple(components)
        if not components or len({component.dimension for component in components}) != 1:
            raise ValueError("GaussianMixture expects at least one component, all of the same dimension")
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "weights", normalize_weights("GaussianMixture", len(components), weights))

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return self.components[0].dimension

    @property
    def num_components(self) -> int:
        """The number K of Gaussians."""
        return len(self.components)

    @property
    def is_curved(self) -> bool:
        """Gaussians are not."""
        return False

    @property
    def mean(self) -> Array:
        """The mixture's mean."""
        return self.weights @ np.stack([component.mean for component in self.components])

    @property
    def cov(self) -> Array:
        """The mixture's covariance: within the components plus between them."""
        offsets = np.stack([component.mean for component in self.components]) - self.mean
        within = np.tensordot(self.weights, np.stack([component.cov for component in self.components]), axes=1)
        return np.asarray(within + (offsets * self.weights[:, None]).T @ offsets)

    def log_prob(self, x: Array) -> Array:
        """Normalised log-density at the rows of ``x``."""
        return log_sum_exp(self.log_terms(x))

    def score(self, x: Array) -> Array:
        """The components' scores, averaged by their responsibilities for each row of ``x``."""
        log_terms = self.log_terms(x)
        responsibilities = np.exp(log_terms - log_sum_exp(log_terms))
        scores = np.stack([component.score(x) for component in self.components])
        return np.asarray(np.einsum("kn,knd->nd", responsibilities, scores))

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Independent draws, (num_points, d)."""
        labels = rng.choice(len(self.components), size=num_points, p=self.weights)
        draws = np.empty((num_points, self.dimension))
        for k, component in enumerate(self.components):
            draws[labels == k] = component.sample(int((labels == k).sum()), rng)
        return draws

    def quasi_random(self, num_points: int, rng: np.random.Generator) -> Array:
        """Draws that fill the mixture more evenly: each component gets its share of them, and a sequence of its own."""
        counts = np.bincount(systematic_resample(self.weights, num_points, rng), minlength=len(self.components))
        draws = [
            component.mean + quasi_random_normal(int(count), self.dimension, rng) @ component.root.T
            for component, count in zip(self.components, counts, strict=True)
            if count
        ]
        return np.concatenate([np.empty((0, self.dimension)), *draws])

    def log_terms(self, x: Array) -> Array:
        """The logarithms of the weighted densities of all components, (K, n)."""
        log_densities = np.stack([component.log_prob(x) for component in self.components])
        return np.asarray(log_densities + np.log(self.weights)[:, None])

    def responsibilities(self, x: Array) -> Array:
        """Of the components for the rows of ``x``, (n, K)."""
        log_terms = self.log_terms(x)
        return np.asarray(np.exp(log_terms - log_sum_exp(log_terms)).T)

    def scale_components(self, widths: Sequence[float]) -> GaussianMixture:
        """Each component replaced by copies of it, that many times as wide."""
        copies = [Gaussian(each.mean, cov=width**2 * each.cov) for each in self.components for width in widths]
        return GaussianMixture(copies, np.repeat(self.weights, len(widths)))
