"""Mixtures of any densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from steinbox.common.arrays import Array, RNGLike
from steinbox.common.serialization import serializable
from steinbox.densities.density import MixtureDensity, repr_mixture
from steinbox.numerics.weights import log_sum_exp, systematic_resample

D = TypeVar("D", bound=MixtureDensity, covariant=True)


@serializable("mixture")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Mixture(Generic[D]):
    r"""The mixture :math:`\sum_k \pi_k\, q_k` of densities, which may be mixtures themselves.

    Mixtures of Gaussians alone are faster as :class:`~steinbox.GaussianMixture`.

    Parameters
    ----------
    densities : sequence of MixtureDensity
    weights : (K,) array_like, optional
        Positive; normalized here; equal if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox import Gaussian, GaussianMixture
    >>> from steinbox.densities.pullback import Pullback
    >>> from steinbox.maps.coordinates import Affine
    >>> normal = GaussianMixture([Gaussian([0.0, 0.0], std=1.0)])
    >>> twice_as_wide = Pullback(Affine(np.zeros(2), 2 * np.eye(2), 0.5 * np.eye(2)), normal)
    >>> Mixture([normal, twice_as_wide], weights=[3, 1]).responsibilities(np.zeros((1, 2))).round(3)
    array([[0.923, 0.077]])
    """

    densities: tuple[D, ...]
    weights: Array

    def __init__(self, densities: Sequence[D], weights: npt.ArrayLike | None = None) -> None:
        if not densities or len({density.dimension for density in densities}) != 1:
            raise ValueError("Mixture expects at least one density, all of the same dimension")
        object.__setattr__(self, "densities", tuple(densities))
        object.__setattr__(self, "weights", normalize_weights("Mixture", len(densities), weights))

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return self.densities[0].dimension

    @property
    def num_components(self) -> int:
        """Of all densities together."""
        return sum(density.num_components for density in self.densities)

    @property
    def is_curved(self) -> bool:
        """Whether any of the densities is."""
        return any(density.is_curved for density in self.densities)

    def log_prob(self, points: Array) -> Array:
        """Log-density at the rows of ``points``."""
        return log_sum_exp(self._log_terms(points))

    def score(self, points: Array) -> Array:
        """The densities' scores at the rows of ``points``, averaged by their shares."""
        scores = np.stack([density.score(points) for density in self.densities])
        return np.asarray(np.einsum("kn,knd->nd", self._shares(points), scores))

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, d)."""
        rng = np.random.default_rng(rng)
        labels = rng.choice(len(self.densities), size=num_points, p=self.weights)
        draws = np.empty((num_points, self.dimension))
        for k, density in enumerate(self.densities):
            draws[labels == k] = density.sample(int((labels == k).sum()), rng)
        return draws

    def quasi_random(self, num_points: int, rng: RNGLike = None) -> Array:
        """Draws, (num_points, d), that fill it more evenly: each density gets its share of them."""
        rng = np.random.default_rng(rng)
        counts = np.bincount(systematic_resample(self.weights, num_points, rng), minlength=len(self.densities))
        pairs = zip(self.densities, counts, strict=True)
        return np.concatenate([density.quasi_random(int(count), rng) for density, count in pairs])

    def responsibilities(self, points: Array) -> Array:
        """Of all components of all densities for the rows of ``points``, (n, K)."""
        within = [density.responsibilities(points) for density in self.densities]
        parts = zip(self._shares(points), within, strict=True)
        return np.concatenate([share[:, None] * each for share, each in parts], axis=1)

    def scale_components(self, widths: Sequence[float]) -> Mixture[MixtureDensity]:
        """Each component replaced by copies of it, that many times as wide."""
        copies = [density.scale_components([width]) for density in self.densities for width in widths]
        return Mixture(copies, np.repeat(self.weights, len(widths)))

    def _log_terms(self, points: Array) -> Array:
        """The logarithms of the weighted densities, (number of densities, n)."""
        log_prob = [density.log_prob(points) for density in self.densities]
        return np.asarray(np.stack(log_prob) + np.log(self.weights)[:, None])

    def _shares(self, points: Array) -> Array:
        """Each density's part of the mixture, (number of densities, n)."""
        log_terms = self._log_terms(points)
        return np.asarray(np.exp(log_terms - log_sum_exp(log_terms)))

    def __repr__(self) -> str:
        return repr_mixture(self)


def normalize_weights(name: str, number: int, weights: npt.ArrayLike | None) -> Array:
    """Weights of that many parts of a mixture, checked, that sum to one."""
    weights = np.ones(number) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (number,) or not np.all(weights > 0):
        raise ValueError(f"{name} expects {number} positive weights, got {weights}")
    return np.asarray(weights / weights.sum())
