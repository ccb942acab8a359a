"""The default's family: mixtures behind maps, straight or curved, with few components or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_count
from steinbox.densities.fitting.curves import fit_curves, min_points_per_curve
from steinbox.densities.fitting.em import PSEUDO_POINTS, WeightedPoints
from steinbox.densities.fitting.family import Fitted
from steinbox.densities.fitting.rotated_map import fit_rotated_map
from steinbox.densities.fitting.shapes import (
    ONE_GAUSSIAN,
    Clusters,
    ClustersDensity,
    Curved,
    CurvedDensity,
    Curves,
    FittedMap,
    Front,
    Gaussianized,
    Hierarchical,
    Map,
    Rotated,
    Shape,
    Shells,
    Sparse,
    Straight,
    fit_pullback,
)
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback
from steinbox.maps.bijection import Composition
from steinbox.numerics.independent_components import CONTRASTS

M = TypeVar("M", bound=Map)

_MAX_POINTS = 2000  # to fit to; more are resampled
_HELD_OUT = 1 / 3  # of the points, to compare shapes by
_MAX_CURVED_DIMENSION = 60  # there are as many products of coordinates to look at as the cube of it; beyond, skewness
_MAX_ROTATED_DIMENSION = 20  # beyond, axes and curves of their own would take too many points, and too long
_MIN_SHELLS_DIMENSION = 11  # below, shells are so thick that a few clusters reach all radii as well
_MAX_ITERATIONS = 15  # of the maps of several components
_MAX_GAUSSIANIZED_ITERATIONS = 2  # the same, where they are Gaussianized: they start from curves, or from clusters
_NARROW_COVARIANCE = 0.2  # of a component's, where it is split into a wide and a narrow one


@dataclass(frozen=True)
class CurvedMixtures:
    """Gaussian mixtures behind triangular maps (a :class:`~steinbox.densities.fitting.family.Family`).

    What is fitted is straight or curved, along the given axes or others, and has one component or several, with
    covariances of their own or one for all, or shells around one mean, or curves with maps of their own. The shape is
    the one that predicts held-out points best. Each part can be switched off.

    Parameters
    ----------
    max_components : int
        Gaussians behind one map, at most, and twice as many as behind maps of their own.
    curved : bool
        Whether maps may be more than affine: bananas, funnels, hierarchical models, skew coordinates, heavy tails. If
        not, the next three mean nothing.
    rotated : bool
        Whether curved maps may have axes of their own.
    own_maps : bool
        Whether every component may have a curved map of its own.
    hierarchical : bool
        Whether the groups of a hierarchical model may be found, with their location and scale.
    shells : bool
        Whether heavy tails in many dimensions may have Gaussians of different widths around one mean.
    gaussianized : bool
        Whether coordinates behind a map, or independent combinations of them, may be skew or have heavy tails; if maps
        may be curved.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import Banana
    >>> points = Banana().sample(1000, np.random.default_rng(0))
    >>> sample = WeightedPoints(points, np.full(1000, 1e-3), 1000)
    >>> CurvedMixtures().choose(sample, np.random.default_rng(0)).density
    <steinbox.Pullback: 1 component in 2 dimensions, curved>
    >>> CurvedMixtures(max_components=4, curved=False).choose(sample, np.random.default_rng(0)).density
    <steinbox.Pullback: 2 components in 2 dimensions>
    """

    max_components: int = 16
    curved: bool = True
    rotated: bool = True
    own_maps: bool = True
    hierarchical: bool = True
    shells: bool = True
    gaussianized: bool = True

    def __post_init__(self) -> None:
        require_count("max_components", self.max_components)

    def choose(self, sample: WeightedPoints, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        """Find the shape that predicts a held-out third best, and fit it to all.

        The number of components is one, or half, as many or twice as many as before. After a Gaussianized map, which
        may have been ahead of two and behind four, two and four are tried again.
        """
        sample = sample.at_most(_MAX_POINTS, rng)
        order = rng.permutation(len(sample.points))
        num_held_out = len(order) // 3
        test = sample.part(order[:num_held_out], _HELD_OUT)
        training = sample.part(order[num_held_out:], 2 * _HELD_OUT)
        before = None if previous is None else _as_candidate(previous)
        candidates = [
            _Candidate(Shape(map_kind, kind), fit_pullback(map_, training, rng, kind, start))
            for map_kind, map_ in self._maps(training, test, rng)
            for kind, start in self._kinds(training, before)
        ]
        plain = [each for each in candidates if not isinstance(each.shape.map, Gaussianized)]
        best_plain = max(plain, key=lambda each: each.value(test))
        candidates += self._curves(training, best_plain, before)
        return _refit(sample, max(candidates, key=lambda each: each.value(test)), rng)

    # -- candidates ----------------------------------------------------------------------------------------------------

    def _maps(
        self, training: WeightedPoints, test: WeightedPoints, rng: np.random.Generator
    ) -> Iterator[tuple[Map, FittedMap]]:
        """A straight map, a curved one and a Gaussianized one, each the one of several that predicts best.

        That is with one Gaussian behind it. Straight maps' slopes are shrunk to zero a little or much, curved ones are
        along the given axes or others; in many dimensions an affine map with few slopes takes their place. Behind them
        coordinates may be skew, or have heavy tails.
        """
        dimension = training.points.shape[1]
        kinds = Straight(PSEUDO_POINTS), Straight(PSEUDO_POINTS * dimension)
        straight = [(each, each.fit(training)) for each in kinds]
        front: list[tuple[Front, FittedMap]] = [_best(straight, training, test, rng)]
        yield front[0]
        if not self.curved:
            return
        pseudo_points = front[0][0].pseudo_points
        if dimension > _MAX_CURVED_DIMENSION:
            front = [(Sparse(pseudo_points), Sparse(pseudo_points).fit(training))]
            yield front[0]
        elif curved := [each for each in self._curved_maps(training, pseudo_points) if each[1].is_curved]:
            front.append(_best(curved, training, test, rng))
            yield front[1]
        if self.gaussianized:
            yield from self._gaussianized_maps(front, training, test, rng)

    def _gaussianized_maps(
        self,
        front: Sequence[tuple[Front, FittedMap]],
        training: WeightedPoints,
        test: WeightedPoints,
        rng: np.random.Generator,
    ) -> Iterator[tuple[Map, FittedMap]]:
        """The best one behind these maps, if it predicts better than all of them do."""
        kinds = [(Gaussianized(kind, None), map_) for kind, map_ in front]
        if 1 < training.points.shape[1] <= _MAX_CURVED_DIMENSION:
            kinds += [(Gaussianized(front[0][0], contrast), front[0][1]) for contrast in CONTRASTS]
        best = _best([(kind, kind.fit_behind(map_, training)) for kind, map_ in kinds], training, test, rng)
        if _value(best, training, test, rng) > max(_value(each, training, test, rng) for each in front):
            yield best

    def _curved_maps(self, training: WeightedPoints, pseudo_points: float) -> Iterator[tuple[Front, FittedMap]]:
        """Along the given axes and, if there are others, along these; or behind a hierarchy, if there is one."""
        yield Curved(pseudo_points), Curved(pseudo_points).fit(training)
        if self.hierarchical and isinstance(map_ := Hierarchical(pseudo_points).fit(training), Composition):
            yield Hierarchical(pseudo_points), map_
        if self.rotated and training.points.shape[1] <= _MAX_ROTATED_DIMENSION:
            rotated = fit_rotated_map(training, pseudo_points=pseudo_points)
            if rotated is not None:
                yield Rotated(pseudo_points), rotated

    def _kinds(
        self, sample: WeightedPoints, before: _Candidate | None
    ) -> Iterator[tuple[Clusters | Shells, Array | None]]:
        """Mixtures, and the responsibilities to start from; only what so few points can tell apart."""
        dimension = sample.points.shape[1]
        clusters = None if before is None else before.as_clusters()
        now = 1 if clusters is None else clusters.num_components
        yield ONE_GAUSSIAN, None
        if self.shells and dimension >= _MIN_SHELLS_DIMENSION:
            yield Shells(), None
        restart = {2, 4} if before is not None and isinstance(before.shape.map, Gaussianized) else set()
        for number in sorted(({max(1, now // 2), now, 2 * now} | restart) - {1}):
            for tied in (False, True):
                points_needed = (0.5 if tied else 1.0) * dimension + 3  # by each component
                if sample.effective_sample_size / number < points_needed or number > self.max_components:
                    continue
                kind = Clusters(number, tied)
                yield kind, None
                if clusters is not None and not tied and number == now:
                    yield kind, clusters.responsibilities(sample.points)
                if clusters is not None and not tied and number == 2 * now:
                    yield kind, _responsibilities_of_twins(clusters, sample.points)

    def _curves(self, sample: WeightedPoints, best: _Candidate, before: _Candidate | None) -> Iterator[_Candidate]:
        """Two curves, or as many as there were before, or twice as many; only what so few points can tell apart.

        Where one component behind one map, or shells, do better than several, curves of their own would not help.
        """
        dimension, rng = sample.points.shape[1], np.random.default_rng(0)
        starts: list[tuple[int, CurvedDensity | None]] = []
        if isinstance(best.shape.kind, Clusters) and best.shape.kind.num_components > 1:
            starts.append((2 if dimension <= _MAX_ROTATED_DIMENSION else best.shape.kind.num_components, None))
        if before is not None and before.density.num_components > 1:
            number, kind = before.density.num_components, before.shape.kind
            starts += [] if isinstance(kind, Shells) else [(number, before.density)]
            starts += [(2 * number, None)] if isinstance(kind, Curves) else []
        for number, start in starts if self.curved and self.own_maps else []:
            enough = sample.effective_sample_size >= 2 * number * min_points_per_curve(dimension)
            if enough and number <= self.max_components // 2 and 1 < dimension <= _MAX_CURVED_DIMENSION:
                for candidate in self._own_maps(number, sample, best, start, rng):
                    if candidate.density.is_curved and candidate.density.num_components > 1:
                        yield candidate

    def _own_maps(
        self,
        number: int,
        sample: WeightedPoints,
        best: _Candidate,
        start: CurvedDensity | None,
        rng: np.random.Generator,
    ) -> Iterator[_Candidate]:
        """Curved maps, and what they leave Gaussianized; in many dimensions straight maps in their place."""
        pseudo_points = best.shape.map.pseudo_points
        front: Front = Straight(pseudo_points)
        if sample.points.shape[1] <= _MAX_ROTATED_DIMENSION:
            front = Curved(pseudo_points)
            candidate = _fit_curves(number, sample, front, start, rng)
            yield candidate
            start = candidate.density
        elif start is None:
            if best.density.num_components != number:
                return
            start = best.density
        if self.gaussianized:
            yield _fit_curves(number, sample, Gaussianized(front, None), start, rng)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A shape and its density; what :class:`Fitted` holds, with the family's own types."""

    shape: Shape
    density: CurvedDensity

    def value(self, test: WeightedPoints) -> float:
        """How well it predicts, in nats per point."""
        return _mean_log_prob(self.density, test) - self.shape.penalty

    def as_clusters(self) -> ClustersDensity | None:
        """The density, if its components may be doubled, with one Gaussian in place of all shells; None for curves."""
        if isinstance(self.density, Mixture):
            return None
        if not isinstance(self.shape.kind, Shells):
            return self.density
        shells = self.density.density
        return Pullback(self.density.map, GaussianMixture.from_arrays(np.ones(1), shells.mean[None], shells.cov[None]))


def _as_candidate(fitted: Fitted) -> _Candidate:
    if not isinstance(fitted.shape, Shape) or not isinstance(fitted.density, Pullback | Mixture):
        raise TypeError(f"expected a density that CurvedMixtures fitted, got {fitted!r}")
    return _Candidate(fitted.shape, fitted.density)


def _refit(sample: WeightedPoints, previous: _Candidate, rng: np.random.Generator) -> Fitted:
    shape = previous.shape
    if isinstance(shape.kind, Curves):
        curves = _fit_curves(shape.kind.num_components, sample, shape.map, previous.density, rng)
        return Fitted(curves.shape, curves.density)
    start = previous.density.responsibilities(sample.points)
    return Fitted(shape, fit_pullback(shape.map.fit(sample), sample, rng, shape.kind, start))


def _fit_curves(
    number: int, sample: WeightedPoints, map_kind: Map, start: CurvedDensity | None, rng: np.random.Generator
) -> _Candidate:
    """At most so many Gaussians behind maps of their own, fitted from another density's responsibilities."""
    responsibilities = None if start is None else start.responsibilities(sample.points)
    iterations = _MAX_GAUSSIANIZED_ITERATIONS if isinstance(map_kind, Gaussianized) else _MAX_ITERATIONS
    density = fit_curves(sample, number, rng, fit_map=map_kind.fit, start=responsibilities, max_iterations=iterations)
    return _Candidate(Shape(map_kind, Curves(density.num_components)), density)


def _best(
    maps: Sequence[tuple[M, FittedMap]], training: WeightedPoints, test: WeightedPoints, rng: np.random.Generator
) -> tuple[M, FittedMap]:
    return max(maps, key=lambda each: _value(each, training, test, rng))


def _value(
    map_: tuple[Map, FittedMap], training: WeightedPoints, test: WeightedPoints, rng: np.random.Generator
) -> float:
    """How well a map predicts with one Gaussian behind it."""
    return _Candidate(Shape(map_[0], ONE_GAUSSIAN), fit_pullback(map_[1], training, rng)).value(test)


def _mean_log_prob(density: CurvedDensity, test: WeightedPoints) -> float:
    return float(test.weights @ density.log_prob(test.points))


def _responsibilities_of_twins(clusters: ClustersDensity, points: Array) -> Array:
    """Responsibilities when every component is there twice, once much narrower."""
    mixture = clusters.density
    twins = GaussianMixture.from_arrays(
        np.tile(mixture.weights, 2),
        np.tile(mixture.means, (2, 1)),
        np.concatenate([mixture.covs, _NARROW_COVARIANCE * mixture.covs]),
    )
    return twins.responsibilities(clusters.map.forward(points))
