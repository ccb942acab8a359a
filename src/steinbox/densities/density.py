"""What a density offers: to be evaluated, differentiated and drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.initial import Initial


class Density(Initial, Protocol):
    """A normalized density with exact draws: a proposal, and with its score a surrogate."""

    def quasi_random(self, num_points: int, rng: np.random.Generator) -> Array:
        """Draws, (num_points, d), that fill the density more evenly than independent ones."""
        ...


class MixtureDensity(Density, Protocol):
    """A density of K components, as :class:`~steinbox.GaussianMixture` is, alone or behind maps: what is fitted."""

    @property
    def num_components(self) -> int:
        """The number K of components."""
        ...

    @property
    def is_curved(self) -> bool:
        """Whether components are more than Gaussians."""
        ...

    def responsibilities(self, points: Array) -> Array:
        """Of the components for the rows of ``points``, (n, K)."""
        ...

    def scale_components(self, widths: Sequence[float]) -> MixtureDensity:
        """Each component replaced by copies of it, that many times as wide, which share its weight."""
        ...


def repr_mixture(density: MixtureDensity) -> str:
    """One line, however many components there are."""
    number, dimension = density.num_components, density.dimension
    return (
        f"<steinbox.{type(density).__name__}: {number} component{'s' if number > 1 else ''} in {dimension} "
        f"dimension{'s' if dimension > 1 else ''}{', curved' if density.is_curved else ''}>"
    )
