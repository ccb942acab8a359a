"""Shapes of curved mixtures: kinds of maps, and kinds of mixtures behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.curves import CurvesDensity
from steinbox.densities.fitting.em import WeightedPoints, fit_mixture
from steinbox.densities.fitting.hierarchies import fit_hierarchical_map
from steinbox.densities.fitting.marginal_map import fit_marginal_map
from steinbox.densities.fitting.rotated_map import fit_rotated_map
from steinbox.densities.fitting.shells import fit_shells
from steinbox.densities.fitting.sparse_map import fit_sparse_map
from steinbox.densities.fitting.triangular_map import fit_triangular_map
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.pullback import Pullback
from steinbox.maps.bijection import Bijection, Composition
from steinbox.maps.triangular import RotatedMap, TriangularMap
from steinbox.numerics.independent_components import CONTRASTS

ClustersDensity: TypeAlias = Pullback[GaussianMixture]
CurvedDensity: TypeAlias = ClustersDensity | CurvesDensity

# In nats per point: a shape must predict held-out points better by so much than the simplest one.
_PENALTY_PER_LOG_COMPONENTS = 0.01
_PENALTY = 0.03  # of shells, of each curve, and of Gaussianized coordinates


# -- maps: their slopes are shrunk to zero by so many pseudo-points ----------------------------------------------------


@serializable("affine-map-family")
@dataclass(frozen=True)
class Straight:
    """An affine map."""

    pseudo_points: float

    def fit(self, sample: WeightedPoints) -> TriangularMap:
        """To weighted points."""
        return fit_triangular_map(sample, curved=False, pseudo_points=self.pseudo_points)


@serializable("triangular-map-family")
@dataclass(frozen=True)
class Curved:
    """A triangular map of the coordinates in some order."""

    pseudo_points: float

    def fit(self, sample: WeightedPoints) -> TriangularMap:
        """To weighted points."""
        return fit_triangular_map(sample, curved=True, pseudo_points=self.pseudo_points)


@serializable("rotated-map-family")
@dataclass(frozen=True)
class Rotated:
    """A triangular map along axes of its own."""

    pseudo_points: float

    def fit(self, sample: WeightedPoints) -> TriangularMap | RotatedMap:
        """To weighted points; along the given axes if the points show no others."""
        return fit_rotated_map(sample, pseudo_points=self.pseudo_points) or Curved(self.pseudo_points).fit(sample)


@serializable("sparse-map-family")
@dataclass(frozen=True)
class Sparse:
    """An affine map with few slopes, which are shrunk in their own way."""

    pseudo_points: float

    def fit(self, sample: WeightedPoints) -> TriangularMap:
        """To weighted points."""
        return fit_sparse_map(sample)


@serializable("hierarchical-map-family")
@dataclass(frozen=True)
class Hierarchical:
    """Effects given the location and the scale of their group, and a triangular map behind them."""

    pseudo_points: float

    def fit(self, sample: WeightedPoints) -> TriangularMap | Composition:
        """To weighted points; without the former if the points show no hierarchy."""
        hierarchy, behind = fit_hierarchical_map(sample), Curved(self.pseudo_points)
        if hierarchy is None:
            return behind.fit(sample)
        return Composition(hierarchy, behind.fit(sample.transform(hierarchy)))


Front: TypeAlias = Straight | Curved | Rotated | Sparse | Hierarchical


@serializable("gaussianized-map-family")
@dataclass(frozen=True)
class Gaussianized:
    """One of the maps above, and behind it one that makes coordinates normal, along its axes or independent ones."""

    front: Front
    contrast: str | None

    @property
    def pseudo_points(self) -> float:
        """Those of the map in front."""
        return self.front.pseudo_points

    def fit(self, sample: WeightedPoints) -> Composition:
        """To weighted points."""
        return self.fit_behind(self.front.fit(sample), sample)

    def fit_behind(self, first: Bijection, sample: WeightedPoints) -> Composition:
        """The second map only."""
        contrast = None if self.contrast is None else CONTRASTS[self.contrast]
        return Composition(first, fit_marginal_map(sample.transform(first), contrast))


# -- mixtures ----------------------------------------------------------------------------------------------------------


@serializable("cluster-family")
@dataclass(frozen=True)
class Clusters:
    """Gaussians with means of their own, and covariances of their own or one for all, behind one map."""

    num_components: int
    tied: bool

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return _PENALTY_PER_LOG_COMPONENTS * float(np.log(self.num_components))

    def fit(self, sample: WeightedPoints, rng: np.random.Generator, start: Array | None) -> GaussianMixture:
        """To points in white coordinates, from these responsibilities."""
        return fit_mixture(sample, self.num_components, rng, tied=self.tied, start=start)


@serializable("shell-family")
@dataclass(frozen=True)
class Shells:
    """Gaussians around one mean, of different widths, behind one map."""

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return _PENALTY

    def fit(self, sample: WeightedPoints, rng: np.random.Generator, start: Array | None) -> GaussianMixture:
        """To points in white coordinates; there is nothing to start from."""
        return fit_shells(sample)


@serializable("curve-family")
@dataclass(frozen=True)
class Curves:
    """Gaussians behind maps of their own."""

    num_components: int

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return _PENALTY * self.num_components


# -- both --------------------------------------------------------------------------------------------------------------

Map: TypeAlias = Front | Gaussianized
FittedMap: TypeAlias = TriangularMap | RotatedMap | Composition
Kind: TypeAlias = Clusters | Shells | Curves

ONE_GAUSSIAN = Clusters(1, tied=False)


@serializable("density-family")
@dataclass(frozen=True)
class Shape:
    """What is chosen: a kind of map, and a kind of mixture."""

    map: Map
    kind: Kind

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return self.kind.penalty + (_PENALTY if isinstance(self.map, Gaussianized) else 0.0)


def fit_pullback(
    map_: Bijection,
    sample: WeightedPoints,
    rng: np.random.Generator,
    kind: Clusters | Shells = ONE_GAUSSIAN,
    start: Array | None = None,
) -> ClustersDensity:
    """Fit a mixture behind this map, from these responsibilities."""
    return Pullback(map_, kind.fit(sample.transform(map_), rng, start))
