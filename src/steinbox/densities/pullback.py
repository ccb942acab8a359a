"""A density behind a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from steinbox.common.arrays import Array, RNGLike
from steinbox.common.serialization import serializable
from steinbox.densities.density import MixtureDensity, repr_mixture
from steinbox.maps.bijection import Bijection

D = TypeVar("D", bound=MixtureDensity, covariant=True)


@serializable("pullback")
@dataclass(frozen=True, eq=False, repr=False)
class Pullback(Generic[D]):
    r"""The density whose points are mapped to those of another,

    .. math:: q(x) = p(f(x))\, |\det \partial f / \partial x| ,

    see :mod:`steinbox.maps.bijection`: normalized if p is, and drawn from by mapping draws of p back.

    Parameters
    ----------
    map : Bijection
        The f.
    density : MixtureDensity
        The p; its components are those of q.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox import Gaussian, GaussianMixture
    >>> from steinbox.maps.coordinates import Affine
    >>> affine = Affine(np.full(2, 5.0), np.diag([2.0, 1.0]), np.diag([0.5, 1.0]))  # z = (x - 5) / (2, 1)
    >>> density = Pullback(affine, GaussianMixture([Gaussian([0.0, 0.0], std=1.0)]))
    >>> points = np.array([[4.0, 6.0], [7.0, 5.0]])
    >>> np.allclose(density.log_prob(points), Gaussian([5.0, 5.0], std=[2.0, 1.0]).log_prob(points))
    True
    """

    map: Bijection
    density: D

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return self.density.dimension

    @property
    def num_components(self) -> int:
        """Of the density."""
        return self.density.num_components

    @property
    def is_curved(self) -> bool:
        """Whether the map is more than affine, or what is behind it is curved."""
        return self.map.is_curved or self.density.is_curved

    def log_prob(self, points: Array) -> Array:
        """Log-density at the rows of ``points``."""
        images, log_det = self.map.forward_and_log_det(points)
        return np.asarray(self.density.log_prob(images) + log_det)

    def score(self, points: Array) -> Array:
        """Its gradient at the rows of ``points``."""
        return self.map.pull_back_score(points, self.density.score(self.map.forward(points)))

    def sample(self, num_points: int, rng: RNGLike = None) -> Array:
        """Independent draws, (num_points, d)."""
        rng = np.random.default_rng(rng)
        return self.map.inverse(self.density.sample(num_points, rng))

    def quasi_random(self, num_points: int, rng: RNGLike = None) -> Array:
        """Draws, (num_points, d), that fill it more evenly than independent ones."""
        rng = np.random.default_rng(rng)
        return self.map.inverse(self.density.quasi_random(num_points, rng))

    def responsibilities(self, points: Array) -> Array:
        """Of its components for the rows of ``points``, (n, K)."""
        return self.density.responsibilities(self.map.forward(points))

    def scale_components(self, widths: Sequence[float]) -> Pullback[MixtureDensity]:
        """Each component replaced by copies of it, that many times as wide before the map."""
        return Pullback(self.map, self.density.scale_components(widths))

    def __repr__(self) -> str:
        return repr_mixture(self)
