"""What can be fitted to weighted points: kinds of maps, and kinds of mixtures behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.curves import CurvesDensity, fit_curves
from steinbox.densities.fitting.em import fit_mixture
from steinbox.densities.fitting.rotated_map import fit_rotated_map
from steinbox.densities.fitting.shells import fit_shells
from steinbox.densities.fitting.triangular_map import fit_triangular_map
from steinbox.densities.fitting.weighted_points import WeightedPoints
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback
from steinbox.maps.bijection import Bijection
from steinbox.maps.rotated import RotatedMap
from steinbox.maps.triangular import TriangularMap

ClustersDensity: TypeAlias = Pullback[GaussianMixture]
FittedDensity: TypeAlias = ClustersDensity | CurvesDensity

_PENALTY = 0.01  # in nats per point, on the logarithm of the number of components
_SHELLS_PENALTY = 0.03
_CURVES_PENALTY = 0.03  # for each

# -- maps: their slopes are drawn to zero by so many pseudo-points ----------------------------------------------------


@serializable("affine-map-family")
@dataclass(frozen=True)
class Straight:
    """An affine map."""

    pseudo: float

    def fit(self, sample: WeightedPoints) -> TriangularMap:
        """To weighted points."""
        return fit_triangular_map(sample, curved=False, pseudo=self.pseudo)


@serializable("triangular-map-family")
@dataclass(frozen=True)
class Curved:
    """A triangular map of the coordinates in some order."""

    pseudo: float

    def fit(self, sample: WeightedPoints) -> TriangularMap:
        """To weighted points."""
        return fit_triangular_map(sample, curved=True, pseudo=self.pseudo)


@serializable("rotated-map-family")
@dataclass(frozen=True)
class Turned:
    """A triangular map along axes of its own."""

    pseudo: float

    def fit(self, sample: WeightedPoints) -> TriangularMap | RotatedMap:
        """To weighted points; along the given axes if they tell of no others."""
        return fit_rotated_map(sample, pseudo=self.pseudo) or Curved(self.pseudo).fit(sample)


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
        return _PENALTY * float(np.log(self.num_components))

    def fit(self, sample: WeightedPoints, rng: np.random.Generator, start: Array | None) -> GaussianMixture:
        """To points in white coordinates, from these responsibilities."""
        return fit_mixture(sample, self.num_components, rng, tied=self.tied, start=start)

    def as_clusters(self, density: FittedDensity) -> ClustersDensity | None:
        """A density of this kind, whose components may be doubled."""
        return None if isinstance(density, Mixture) else density


@serializable("shell-family")
@dataclass(frozen=True)
class Shells:
    """Gaussians around one mean, of different widths, behind one map."""

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return _SHELLS_PENALTY

    def fit(self, sample: WeightedPoints, rng: np.random.Generator, start: Array | None) -> GaussianMixture:
        """To points in white coordinates; there is nothing to start from."""
        return fit_shells(sample)

    def as_clusters(self, density: FittedDensity) -> ClustersDensity | None:
        """One Gaussian in place of all shells."""
        if isinstance(density, Mixture):
            return None
        shells = density.density
        return Pullback(density.map, GaussianMixture([Gaussian(shells.mean, cov=shells.cov)]))


@serializable("curve-family")
@dataclass(frozen=True)
class Curves:
    """Gaussians behind maps of their own."""

    num_components: int

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return _CURVES_PENALTY * self.num_components

    def as_clusters(self, density: FittedDensity) -> None:
        """There is no such density."""


# -- both --------------------------------------------------------------------------------------------------------------

Map: TypeAlias = Straight | Curved | Turned
Kind: TypeAlias = Clusters | Shells | Curves


@serializable("density-family")
@dataclass(frozen=True)
class Shape:
    """What is chosen: a kind of map, and a kind of mixture."""

    map: Map
    kind: Kind


@serializable("fitted-density")
@dataclass(frozen=True, eq=False)
class Fitted:
    """A density, and the shape that was chosen for it."""

    shape: Shape
    density: FittedDensity


def fit_behind(
    warp: Bijection,
    sample: WeightedPoints,
    kind: Clusters | Shells,
    start: Array | None,
    rng: np.random.Generator,
) -> ClustersDensity:
    """A mixture behind this map, fitted from these responsibilities."""
    white = WeightedPoints(warp.forward(sample.points), sample.weights, sample.size)
    return Pullback(warp, kind.fit(white, rng, start))


def curves(
    number: int, sample: WeightedPoints, pseudo: float, start: FittedDensity | None, rng: np.random.Generator
) -> Fitted:
    """At most so many Gaussians behind curved maps of their own, fitted from another density's responsibilities."""
    responsibilities = None if start is None else start.responsibilities(sample.points)
    density = fit_curves(sample, number, rng, pseudo=pseudo, start=responsibilities)
    return Fitted(Shape(Curved(pseudo), Curves(density.num_components)), density)
