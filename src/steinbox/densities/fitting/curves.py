"""Modes that are curved in different ways: Gaussians behind maps of their own, by expectation-maximization."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.fitting.em import WeightedPoints, fit_mixture
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback
from steinbox.maps.bijection import Bijection

CurvesDensity: TypeAlias = Mixture[Pullback[GaussianMixture]]
FitMap: TypeAlias = Callable[[WeightedPoints], Bijection]

_NUM_RANDOM_STARTS = 4  # slices across random directions
_MIN_GAIN = 0.003  # nats per point: a smaller gain ends the iterations
_MIN_RESPONSIBILITY = 0.01  # a component is fitted to the points that it is responsible for by so much


def fit_curves(
    sample: WeightedPoints,
    num_components: int,
    rng: np.random.Generator,
    *,
    fit_map: FitMap,
    start: Array | None = None,
    max_iterations: int = 15,
) -> CurvesDensity:
    """The mixture of so many Gaussians behind maps of their own; fewer if some are left with too few points.

    It starts from the responsibilities ``start``, (m, K), or from those of a mixture of plain Gaussians and from slices
    across random directions, whichever is best after two steps: curves cross, and clusters do not tell them apart. If
    no map is curved at first, none will be, and the iterations end.

    Examples
    --------
    >>> import numpy as np
    >>> from steinbox.densities.fitting.shapes import Curved
    >>> from steinbox.targets import Banana
    >>> rng = np.random.default_rng(0)
    >>> side = rng.choice([-1, 1], size=(1000, 1))
    >>> points = side * (Banana().sample(1000, rng) + [0, 4])  # and its mirror image
    >>> fit_curves(WeightedPoints(points, np.full(1000, 1e-3), 1000), 2, rng, fit_map=Curved(0.5).fit).weights.round(1)
    array([0.5, 0.5])
    """
    if start is not None:
        return _climb(sample, _maximize(sample, start, rng, fit_map), rng, fit_map, max_iterations)
    starts = [fit_mixture(sample, num_components, rng).responsibilities(sample.points)]
    starts += [_slice(sample, num_components, rng) for _ in range(_NUM_RANDOM_STARTS)]
    first = [_climb(sample, _maximize(sample, each, rng, fit_map), rng, fit_map, 1) for each in starts]
    best = max(first, key=lambda each: _mean_log_prob(each, sample))
    return _climb(sample, best, rng, fit_map, max_iterations)


def _climb(
    sample: WeightedPoints, density: CurvesDensity, rng: np.random.Generator, fit_map: FitMap, num_iterations: int
) -> CurvesDensity:
    """The density after so many steps, or fewer if they do not help; a map of next to no points may overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        height = _mean_log_prob(density, sample)
        for _ in range(num_iterations if density.is_curved else 0):
            density = _maximize(sample, density.responsibilities(sample.points), rng, fit_map)
            before, height = height, _mean_log_prob(density, sample)
            if height < before + _MIN_GAIN:
                break
    return density


def _mean_log_prob(density: CurvesDensity, sample: WeightedPoints) -> float:
    return float(sample.weights @ density.log_prob(sample.points))


def _slice(sample: WeightedPoints, number: int, rng: np.random.Generator) -> Array:
    """Responsibilities of slices with equally many points, across a random direction."""
    spread = np.sqrt(sample.weights @ (sample.points - sample.weights @ sample.points) ** 2)
    places = (sample.points / spread) @ rng.standard_normal(len(spread))
    ranks = np.empty(len(places), dtype=np.int64)
    ranks[np.argsort(places)] = np.arange(len(places))
    return np.eye(number)[ranks * number // len(places)]


def _maximize(
    sample: WeightedPoints, responsibilities: Array, rng: np.random.Generator, fit_map: FitMap
) -> CurvesDensity:
    """The components for these responsibilities."""
    shares = sample.weights @ responsibilities
    kept = np.flatnonzero(shares * sample.effective_sample_size >= min_points_per_curve(sample.points.shape[1]))
    kept = kept if len(kept) else np.array([np.argmax(shares)])
    densities = []
    for k in kept:
        mine = np.flatnonzero(responsibilities[:, k] > _MIN_RESPONSIBILITY)
        weights = sample.weights[mine] * responsibilities[mine, k]
        part = WeightedPoints(
            sample.points[mine], weights / weights.sum(), float(shares[k] * sample.effective_sample_size)
        )
        curve = fit_map(part)
        densities.append(Pullback(curve, fit_mixture(part.transform(curve), 1, rng)))
    return Mixture(densities, shares[kept])


def min_points_per_curve(dimension: int) -> int:
    """How many points a curved map takes."""
    return 2 * dimension + 10
