"""The warped mixture that explains weighted points best: straight or curved, with few components or many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from steinbox.gaussian import Gaussian
from steinbox.mixtures import GaussianMixture
from steinbox.proposals.mixture_fit import WeightedPoints, expected, fit_mixture
from steinbox.proposals.shell_fit import fit_shells
from steinbox.proposals.warp import Warp
from steinbox.proposals.warp_fit import fit_warp
from steinbox.proposals.warped_mixture import WarpedMixture
from steinbox.types import Array

_MAX_COMPONENTS = 16
_MAX_POINTS = 2000
_MOST_CURVED = 60  # dimensions: there are as many pairs of coordinates to look at as the cube of it
_PENALTY = 0.01  # in nats per point, on the logarithm of the number of components
_SHELLS_PENALTY = 0.03
_THICK = 10  # dimensions: up to here shells are so thick that a few clusters reach all radii as well


@dataclass(frozen=True)
class Clusters:
    """Gaussians with means of their own, and covariances of their own or one for all."""

    num_components: int
    tied: bool

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return _PENALTY * float(np.log(self.num_components))

    def fit(self, sample: WeightedPoints, rng: np.random.Generator, start: Array | None) -> GaussianMixture:
        """To points in white coordinates, from these responsibilities."""
        return fit_mixture(sample, self.num_components, rng, tied=self.tied, start=start)

    def as_clusters(self, density: WarpedMixture) -> WarpedMixture:
        """A density of this kind, whose components may be doubled."""
        return density


_ONE = Clusters(1, tied=False)


@dataclass(frozen=True)
class Shells:
    """Gaussians around one mean, of different widths."""

    @property
    def penalty(self) -> float:
        """In nats per point."""
        return _SHELLS_PENALTY

    def fit(self, sample: WeightedPoints, rng: np.random.Generator, start: Array | None) -> GaussianMixture:
        """To points in white coordinates; there is nothing to start from."""
        return fit_shells(sample)

    def as_clusters(self, density: WarpedMixture) -> WarpedMixture:
        """One Gaussian in place of all shells."""
        mixture = density.mixture
        return WarpedMixture(density.warp, GaussianMixture([Gaussian(mixture.mean, cov=mixture.cov)]))


@dataclass(frozen=True)
class Shape:
    """What is chosen: whether the map is curved and how firmly straight, and the kind of mixture behind it."""

    curved: bool
    pseudo: float
    kind: Clusters | Shells


@dataclass(frozen=True, eq=False)
class Fitted:
    """A warped mixture, and the shape that was chosen for it."""

    shape: Shape
    density: WarpedMixture


def choose(sample: WeightedPoints, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
    """The shape that predicts a held-out third best, fitted to all.

    It is straight or curved, and has one component, or half, as many or twice as many as before, with covariances of
    their own or one for all, or shells around one mean.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import Banana
    >>> points = Banana().sample(1000, np.random.default_rng(0))
    >>> choose(WeightedPoints(points, np.full(1000, 1e-3), 1000), np.random.default_rng(0)).density
    <steinbox.WarpedMixture: 1 components in 2 dimensions, curved>
    """
    sample = sample.at_most(_MAX_POINTS, rng)
    order = rng.permutation(len(sample.points))
    held_out, kept = order[: len(order) // 3], order[len(order) // 3 :]
    training, test = sample.part(kept, 2 / 3), sample.part(held_out, 1 / 3)
    best, best_score = None, -np.inf
    for warp, curved, pseudo in _warps(training, test, rng):
        for kind, start in _kinds(training, previous):
            density = _behind(warp, training, kind, start, rng)
            score = _score(density, test) - kind.penalty
            if best is None or score > best_score:
                best, best_score = Fitted(Shape(curved, pseudo, kind), density), score
    if best is None:
        raise ValueError("expected weighted points to fit to")
    return _refitted(sample, best, rng)


def refit(sample: WeightedPoints, previous: Fitted, rng: np.random.Generator) -> Fitted:
    """A mixture of the same shape for other points."""
    return _refitted(sample.at_most(_MAX_POINTS, rng), previous, rng)


def joined(previous: Fitted, sample: WeightedPoints, share: float, rng: np.random.Generator) -> Fitted:
    """The same mixture with one more component, fitted to the sample, that has this share of the mass."""
    density = previous.density
    white = WeightedPoints(density.warp.forward(sample.points)[0], sample.weights, sample.size)
    components = [*density.mixture.components, *fit_mixture(white, 1, rng).components]
    share = float(np.clip(share, 1e-6, 1 - 1e-6))
    mixture = GaussianMixture(components, np.append((1 - share) * density.mixture.weights, share))
    shape = replace(previous.shape, kind=Clusters(len(components), tied=False))
    return Fitted(shape, WarpedMixture(density.warp, mixture))


def _refitted(sample: WeightedPoints, previous: Fitted, rng: np.random.Generator) -> Fitted:
    shape = previous.shape
    warp = fit_warp(sample, curved=shape.curved, pseudo=shape.pseudo)
    start = previous.density.responsibilities(sample.points)
    return Fitted(shape, _behind(warp, sample, shape.kind, start, rng))


def _score(density: WarpedMixture, test: WeightedPoints) -> float:
    return float(test.weights @ density.log_prob(test.points))


def _behind(
    warp: Warp, sample: WeightedPoints, kind: Clusters | Shells, start: Array | None, rng: np.random.Generator
) -> WarpedMixture:
    white = WeightedPoints(warp.forward(sample.points)[0], sample.weights, sample.size)
    return WarpedMixture(warp, kind.fit(white, rng, start))


def _warps(
    training: WeightedPoints, test: WeightedPoints, rng: np.random.Generator
) -> Iterator[tuple[Warp, bool, float]]:
    """A straight map, its slopes drawn to zero firmly or hardly, whichever predicts better; and a curved one."""
    straight = [
        (fit_warp(training, curved=False, pseudo=pseudo), False, pseudo)
        for pseudo in (0.5, 0.5 * training.points.shape[1])
    ]
    best = max(straight, key=lambda each: _score(_behind(each[0], training, _ONE, None, rng), test))
    yield best
    if training.points.shape[1] > _MOST_CURVED:
        return
    curved = fit_warp(training, curved=True, pseudo=best[2])
    if curved.is_curved:
        yield curved, True, best[2]


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


def _doubled(previous: WarpedMixture, points: Array) -> Array:
    """Responsibilities when every component is there twice, once much narrower."""
    mixture = previous.mixture
    narrow = [Gaussian(each.mean, cov=0.2 * each.cov) for each in mixture.components]
    doubled = GaussianMixture([*mixture.components, *narrow], np.concatenate([mixture.weights, mixture.weights]))
    return expected(doubled, previous.warp.forward(points)[0])
