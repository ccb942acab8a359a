"""The warped mixture that explains weighted points best: straight or curved, with few components or many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.fitting.curves import fewest
from steinbox.densities.fitting.family import (
    Clusters,
    ClustersDensity,
    Curved,
    Curves,
    Fitted,
    FittedDensity,
    Map,
    Shape,
    Shells,
    Straight,
    Turned,
    curves,
    fit_behind,
)
from steinbox.densities.fitting.rotated_map import fit_rotated_map
from steinbox.densities.fitting.triangular_map import fit_triangular_map
from steinbox.densities.fitting.weighted_points import WeightedPoints
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback
from steinbox.maps.rotated import RotatedMap
from steinbox.maps.triangular import TriangularMap

_MAX_COMPONENTS = 16
_MAX_POINTS = 2000
_MOST_CURVED = 60  # dimensions: there are as many pairs of coordinates to look at as the cube of it
_MOST_TURNED = 20  # dimensions: beyond, axes and curves of their own would take too many points, and too long
_MOST_CURVES = 8
_THICK = 10  # dimensions: up to here shells are so thick that a few clusters reach all radii as well
_ONE = Clusters(1, tied=False)


def choose(sample: WeightedPoints, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
    """The shape that predicts a held-out third best, fitted to all.

    It is straight or curved, along the given axes or others, and has one component, or half, as many or twice as many
    as before, with covariances of their own or one for all, or shells around one mean, or curves of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import Banana
    >>> points = Banana().sample(1000, np.random.default_rng(0))
    >>> choose(WeightedPoints(points, np.full(1000, 1e-3), 1000), np.random.default_rng(0)).density
    <steinbox.Pullback: 1 component in 2 dimensions, curved>
    """
    sample = sample.at_most(_MAX_POINTS, rng)
    order = rng.permutation(len(sample.points))
    held_out, kept = order[: len(order) // 3], order[len(order) // 3 :]
    training, test = sample.part(kept, 2 / 3), sample.part(held_out, 1 / 3)
    candidates = [
        Fitted(Shape(map_, kind), fit_behind(warp, training, kind, start, rng))
        for map_, warp in _maps(training, test, rng)
        for kind, start in _kinds(training, previous)
    ]
    best = max(candidates, key=lambda each: _value(each, test))
    best = max([best, *_curves(training, best, previous)], key=lambda each: _value(each, test))
    return _refitted(sample, best, rng)


def refit(sample: WeightedPoints, previous: Fitted, rng: np.random.Generator) -> Fitted:
    """A mixture of the same shape for other points."""
    return _refitted(sample.at_most(_MAX_POINTS, rng), previous, rng)


def add_component(previous: Fitted, sample: WeightedPoints, share: float, rng: np.random.Generator) -> Fitted:
    """The same mixture with one more component, fitted to the sample, that has this share of the mass."""
    density, share = previous.density, float(np.clip(share, 1e-6, 1 - 1e-6))
    if isinstance(density, Mixture):
        straight = fit_triangular_map(sample, curved=False)
        densities = [*density.densities, fit_behind(straight, sample, _ONE, None, rng)]
        weights = np.append((1 - share) * density.weights, share)
        return Fitted(replace(previous.shape, kind=Curves(len(densities))), Mixture(densities, weights))
    added = fit_behind(density.map, sample, _ONE, None, rng).density
    mixture = GaussianMixture.from_arrays(
        np.append((1 - share) * density.density.weights, share),
        np.concatenate([density.density.means, added.means]),
        np.concatenate([density.density.covs, added.covs]),
    )
    kind = Clusters(mixture.num_components, tied=False)
    return Fitted(replace(previous.shape, kind=kind), Pullback(density.map, mixture))


def _refitted(sample: WeightedPoints, previous: Fitted, rng: np.random.Generator) -> Fitted:
    shape = previous.shape
    if isinstance(shape.kind, Curves):
        return curves(shape.kind.num_components, sample, shape.map.pseudo, previous.density, rng)
    start = previous.density.responsibilities(sample.points)
    return Fitted(shape, fit_behind(shape.map.fit(sample), sample, shape.kind, start, rng))


def _score(density: FittedDensity, test: WeightedPoints) -> float:
    return float(test.weights @ density.log_prob(test.points))


def _value(fitted: Fitted, test: WeightedPoints) -> float:
    return _score(fitted.density, test) - fitted.shape.kind.penalty


# -- candidates --------------------------------------------------------------------------------------------------------


def _maps(
    training: WeightedPoints, test: WeightedPoints, rng: np.random.Generator
) -> Iterator[tuple[Map, TriangularMap | RotatedMap]]:
    """A straight map and a curved one, each that of several which predicts best with one Gaussian behind it.

    Straight maps' slopes are drawn to zero firmly or hardly, curved ones are along the given axes or others.
    """

    def best(maps: list[tuple[Map, TriangularMap | RotatedMap]]) -> tuple[Map, TriangularMap | RotatedMap]:
        return max(maps, key=lambda each: _score(fit_behind(each[1], training, _ONE, None, rng), test))

    dimension = training.points.shape[1]
    straight = best([(each, each.fit(training)) for each in (Straight(0.5), Straight(0.5 * dimension))])
    yield straight
    pseudo = straight[0].pseudo
    curved: list[tuple[Map, TriangularMap | RotatedMap]] = []
    if dimension <= _MOST_CURVED:
        curved.append((Curved(pseudo), Curved(pseudo).fit(training)))
    if dimension <= _MOST_TURNED and (turned := fit_rotated_map(training, pseudo=pseudo)) is not None:
        curved.append((Turned(pseudo), turned))
    curved = [each for each in curved if each[1].is_curved]
    if curved:
        yield best(curved)


def _kinds(sample: WeightedPoints, previous: Fitted | None) -> Iterator[tuple[Clusters | Shells, Array | None]]:
    """Mixtures, and the responsibilities to start from; only what so few points can tell apart."""
    before = None if previous is None else previous.shape.kind.as_clusters(previous.density)
    now = 1 if before is None else before.num_components
    yield _ONE, None
    if sample.points.shape[1] > _THICK:
        yield Shells(), None
    for number in sorted({max(1, now // 2), now, 2 * now} - {1}):
        for tied in (False, True):
            enough = sample.size / number >= (0.5 if tied else 1.0) * sample.points.shape[1] + 3
            if not enough or number > _MAX_COMPONENTS:
                continue
            kind = Clusters(number, tied)
            yield kind, None
            if before is not None and not tied and number == now:
                yield kind, before.responsibilities(sample.points)
            if before is not None and not tied and number == 2 * now:
                yield kind, _doubled(before, sample.points)


def _doubled(previous: ClustersDensity, points: Array) -> Array:
    """Responsibilities when every component is there twice, once much narrower."""
    mixture = previous.density
    doubled = GaussianMixture.from_arrays(
        np.tile(mixture.weights, 2),
        np.tile(mixture.means, (2, 1)),
        np.concatenate([mixture.covs, 0.2 * mixture.covs]),
    )
    return doubled.responsibilities(previous.map.forward(points))


def _curves(sample: WeightedPoints, best: Fitted, previous: Fitted | None) -> Iterator[Fitted]:
    """Two curves, or as many as there were before, or twice as many; only what so few points can tell apart.

    Where one component behind one map, or shells, do better than several, curves of their own would be in vain.
    """
    dimension, rng = sample.points.shape[1], np.random.default_rng(0)
    starts: list[tuple[int, FittedDensity | None]] = []
    if isinstance(best.shape.kind, Clusters) and best.shape.kind.num_components > 1:
        starts.append((2, None))
    if previous is not None and previous.density.num_components > 1:
        number, kind = previous.density.num_components, previous.shape.kind
        starts += [] if isinstance(kind, Shells) else [(number, previous.density)]
        starts += [(2 * number, None)] if isinstance(kind, Curves) else []
    for number, start in starts:
        enough = sample.size >= 2 * number * fewest(dimension)
        if enough and number <= _MOST_CURVES and 1 < dimension <= _MOST_TURNED:
            fitted = curves(number, sample, best.shape.map.pseudo, start, rng)
            if fitted.density.is_curved and fitted.density.num_components > 1:
                yield fitted
