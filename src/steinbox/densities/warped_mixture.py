"""Gaussian mixtures behind triangular maps: densities that can be curved and have modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.maps.rotated import RotatedMap
from steinbox.maps.triangular import TriangularMap
from steinbox.numerics.weights import log_sum_exp, systematic_resample


@serializable("transformed-gaussian-mixture")
@dataclass(frozen=True, eq=False)
class WarpedMixture:
    r"""Gaussians behind maps, one map :math:`u` for all of them or one for each: normalised, with exact draws,

    .. math:: q(x) = \sum_k \pi_k\, N(u_k(x); \mu_k, \Sigma_k)\, |\partial u_k / \partial x| .

    With its score it is a surrogate for :class:`~steinbox.GFSVGD`, :func:`~steinbox.gf_ksd` and their kin.
    """

    warps: tuple[TriangularMap | RotatedMap, ...]
    mixture: GaussianMixture

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return self.mixture.dimension

    @property
    def num_components(self) -> int:
        """Of the mixture."""
        return len(self.mixture.components)

    @property
    def is_curved(self) -> bool:
        """Whether any map is more than affine."""
        return any(warp.is_curved for warp in self.warps)

    def log_prob(self, x: Array) -> Array:
        """Normalised log-density at the rows of ``x``."""
        return log_sum_exp(self._log_parts(x))

    def score(self, x: Array) -> Array:
        """Its gradient at the rows of ``x``: the parts' gradients, averaged by their responsibilities."""
        scores = [warp.pull_back_score(x, mixture.score(warp.forward(x))) for warp, mixture in self._parts]
        return np.asarray(np.einsum("pn,pnd->nd", self._part_responsibilities(x), np.stack(scores)))

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Independent draws, (num_points, d)."""
        if len(self._parts) == 1:
            return self.warps[0].inverse(self.mixture.sample(num_points, rng))
        labels = rng.choice(len(self._parts), size=num_points, p=self.mixture.weights)
        draws = np.empty((num_points, self.dimension))
        for k, (warp, mixture) in enumerate(self._parts):
            draws[labels == k] = warp.inverse(mixture.sample(int((labels == k).sum()), rng))
        return draws

    def quasi_random(self, num_points: int, rng: np.random.Generator) -> Array:
        """Draws that fill it more evenly than independent ones."""
        if len(self._parts) == 1:
            return self.warps[0].inverse(self.mixture.quasi_random(num_points, rng))
        counts = np.bincount(systematic_resample(self.mixture.weights, num_points, rng), minlength=len(self._parts))
        draws = [
            warp.inverse(mixture.quasi_random(int(count), rng))
            for (warp, mixture), count in zip(self._parts, counts, strict=True)
        ]
        return np.concatenate(draws)

    def responsibilities(self, x: Array) -> Array:
        """Of its components for the rows of ``x``, (n, K)."""
        shares = self._part_responsibilities(x)
        within = [mixture.responsibilities(warp.forward(x)) for warp, mixture in self._parts]
        return np.concatenate([share[:, None] * each for share, each in zip(shares, within, strict=True)], axis=1)

    @cached_property
    def _parts(self) -> tuple[tuple[TriangularMap | RotatedMap, GaussianMixture], ...]:
        """Maps, and what is behind each."""
        if len(self.warps) == 1:
            return ((self.warps[0], self.mixture),)
        single = [GaussianMixture([component]) for component in self.mixture.components]
        return tuple(zip(self.warps, single, strict=True))

    def _log_parts(self, x: Array) -> Array:
        """The logarithms of the weighted densities of all parts, (P, n)."""
        log_shares = np.zeros(1) if len(self._parts) == 1 else np.log(self.mixture.weights)
        log_parts = []
        for (warp, mixture), log_share in zip(self._parts, log_shares, strict=True):
            u, log_det = warp.forward_and_log_det(x)
            log_parts.append(mixture.log_prob(u) + log_det + log_share)
        return np.stack(log_parts)

    def _part_responsibilities(self, x: Array) -> Array:
        log_parts = self._log_parts(x)
        return np.asarray(np.exp(log_parts - log_sum_exp(log_parts)))

    def __repr__(self) -> str:
        kind = "curved" if self.is_curved else "straight"
        return f"<steinbox.WarpedMixture: {self.num_components} components in {self.dimension} dimensions, {kind}>"
