"""Modes that are curved in different ways: Gaussians behind maps of their own, by expectation-maximisation."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.fitting.em import fit_mixture
from steinbox.densities.fitting.triangular_map import fit_triangular_map
from steinbox.densities.fitting.weighted_points import WeightedPoints
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback

CurvesDensity: TypeAlias = Mixture[Pullback[GaussianMixture]]

_NUM_ITERATIONS = 15
_NUM_SLICINGS = 4
_RISE = 0.003  # nats per point: with less, it has arrived
_MINE = 0.01  # a component is fitted to the points that it is responsible for by so much


def fit_curves(
    sample: WeightedPoints,
    num_components: int,
    rng: np.random.Generator,
    *,
    pseudo: float = 0.5,
    start: Array | None = None,
) -> CurvesDensity:
    """The mixture of so many Gaussians behind maps of their own; fewer if some are left with hardly any points.

    It starts from the responsibilities ``start``, (m, K), or from those of a mixture of plain Gaussians and from slices
    across random directions, whichever is best after two steps: curves cross, and clusters do not tell them apart. If
    no map is curved at first, none will be, and it is given up.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.targets import Banana
    >>> rng = np.random.default_rng(0)
    >>> side = rng.choice([-1, 1], size=(1000, 1))
    >>> points = side * (Banana().sample(1000, rng) + [0, 4])  # and its mirror image
    >>> fit_curves(WeightedPoints(points, np.full(1000, 1e-3), 1000), 2, rng).weights.round(1)
    array([0.5, 0.5])
    """
    if start is not None:
        return _climbed(sample, _maximised(sample, start, rng, pseudo), rng, pseudo, _NUM_ITERATIONS)
    starts = [fit_mixture(sample, num_components, rng).responsibilities(sample.points)]
    starts += [_slices(sample, num_components, rng) for _ in range(_NUM_SLICINGS)]
    first = [_climbed(sample, _maximised(sample, each, rng, pseudo), rng, pseudo, 1) for each in starts]
    best = max(first, key=lambda each: _height(each, sample))
    return _climbed(sample, best, rng, pseudo, _NUM_ITERATIONS)


def _climbed(
    sample: WeightedPoints, density: CurvesDensity, rng: np.random.Generator, pseudo: float, num_iterations: int
) -> CurvesDensity:
    """The density after so many steps, or fewer if they do not help."""
    height = _height(density, sample)
    for _ in range(num_iterations if density.is_curved else 0):
        density = _maximised(sample, density.responsibilities(sample.points), rng, pseudo)
        before, height = height, _height(density, sample)
        if height < before + _RISE:
            break
    return density


def _height(density: CurvesDensity, sample: WeightedPoints) -> float:
    return float(sample.weights @ density.log_prob(sample.points))


def _slices(sample: WeightedPoints, number: int, rng: np.random.Generator) -> Array:
    """Responsibilities of slices with equally many points, across a random direction."""
    spread = np.sqrt(sample.weights @ (sample.points - sample.weights @ sample.points) ** 2)
    places = (sample.points / spread) @ rng.standard_normal(len(spread))
    ranks = np.empty(len(places), dtype=np.int64)
    ranks[np.argsort(places)] = np.arange(len(places))
    return np.eye(number)[ranks * number // len(places)]


def _maximised(
    sample: WeightedPoints, responsibilities: Array, rng: np.random.Generator, pseudo: float
) -> CurvesDensity:
    """The components for these responsibilities."""
    shares = sample.weights @ responsibilities
    kept = np.flatnonzero(shares * sample.size >= fewest(sample.points.shape[1]))
    kept = kept if len(kept) else np.array([np.argmax(shares)])
    densities = []
    for k in kept:
        mine = np.flatnonzero(responsibilities[:, k] > _MINE)
        weights = sample.weights[mine] * responsibilities[mine, k]
        part = WeightedPoints(sample.points[mine], weights / weights.sum(), float(shares[k] * sample.size))
        warp = fit_triangular_map(part, curved=True, pseudo=pseudo)
        white = WeightedPoints(warp.forward(part.points), part.weights, part.size)
        densities.append(Pullback(warp, fit_mixture(white, 1, rng)))
    return Mixture(densities, shares[kept])


def fewest(dimension: int) -> int:
    """So many points have something to say about a curved map."""
    return 2 * dimension + 10
