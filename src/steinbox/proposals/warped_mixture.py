"""Gaussian mixtures behind a triangular map: densities that can be curved and have modes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.mixtures import GaussianMixture
from steinbox.proposals.mixture_fit import expected
from steinbox.proposals.warp import Warp
from steinbox.types import Array


@dataclass(frozen=True, eq=False)
class WarpedMixture:
    r"""The density :math:`q(x) = \text{mixture}(u(x))\, |\partial u / \partial x|`: normalised, with exact draws.

    With its score it is a surrogate for :class:`~steinbox.GFSVGD`, :func:`~steinbox.gf_ksd` and their kin.
    """

    warp: Warp
    mixture: GaussianMixture

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return self.mixture.dimension

    @property
    def num_components(self) -> int:
        """Of the mixture."""
        return len(self.mixture.components)

    def log_prob(self, x: Array) -> Array:
        """Normalised log-density at the rows of ``x``."""
        u, log_volume = self.warp.forward(x)
        return self.mixture.log_prob(u) + log_volume

    def score(self, x: Array) -> Array:
        """Its gradient at the rows of ``x``."""
        return self.warp.score(x, self.mixture.score(self.warp.forward(x)[0]))

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Independent draws, (num_points, d)."""
        return self.warp.backward(self.mixture.sample(num_points, rng))

    def quasi_random(self, num_points: int, rng: np.random.Generator) -> Array:
        """Draws that fill it more evenly than independent ones."""
        return self.warp.backward(self.mixture.quasi_random(num_points, rng))

    def responsibilities(self, x: Array) -> Array:
        """Of its components for the rows of ``x``, (n, K)."""
        return expected(self.mixture, self.warp.forward(x)[0])

    def __repr__(self) -> str:
        kind = "curved" if self.warp.is_curved else "straight"
        return f"<steinbox.WarpedMixture: {self.num_components} components in {self.dimension} dimensions, {kind}>"
