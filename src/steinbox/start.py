"""Where a run begins: initial distribution, particles and known values, all as free parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.special import logsumexp

from steinbox.checks import whole_number
from steinbox.evaluate import Archive
from steinbox.initial import Initial, as_initial, fit_initial, path_start
from steinbox.samplers.base import Draws
from steinbox.transforms import Between, Bounds, Identity, Periodic, Transform
from steinbox.types import Array

DEFAULT_PARTICLES = 200
_DRAWS_FOR_SHARE = 20_000
_MOST_ROUNDS = 200
_MOST_TURNED = 3  # angles around which the initial distribution is wrapped exactly


def start(
    initial: object, num_particles: int | None, bounds: Bounds | None, rng: np.random.Generator
) -> tuple[Initial, Array]:
    """The initial distribution and the particles drawn from it, or the one fitted to the given particles; all free."""
    understood = Uniform(bounds) if initial is None and bounds is not None else as_initial(initial)
    dimension = understood.shape[1] if isinstance(understood, np.ndarray) else understood.dimension
    if bounds is not None and len(bounds.parameters) != dimension:
        raise ValueError(f"expected {dimension} bounds, one per parameter of `initial`, got {len(bounds.parameters)}")
    if isinstance(understood, np.ndarray):
        if num_particles not in (None, len(understood)):
            raise ValueError(
                f"num_particles={num_particles}, but `initial` holds {len(understood)} particles; leave one of them out"
            )
        particles = understood if bounds is None else _free_particles(understood, bounds, rng)
        return fit_initial(particles), particles
    distribution = understood if bounds is None else FreeInitial(understood, bounds)
    num_particles = DEFAULT_PARTICLES if num_particles is None else whole_number("num_particles", num_particles, 2)
    particles = np.ascontiguousarray(distribution.sample(num_particles, rng), dtype=np.float64)
    if particles.shape != (num_particles, distribution.dimension) or not np.isfinite(particles).all():
        raise ValueError(
            f"expected `initial` to draw finite particles of shape {(num_particles, distribution.dimension)}, "
            f"got shape {particles.shape}"
        )
    return path_start(distribution, particles, np.random.default_rng(0)), particles


def known(archive: Archive, bounds: Bounds | None, dimension: int) -> tuple[Array, Array]:
    """An archive's points and log-densities, as samplers see them; what is beyond the bounds is left out."""
    if not isinstance(archive, Archive) or archive.points.shape[1] != dimension:
        raise ValueError(f"expected an archive of points in {dimension} dimensions, got {archive!r}")
    transform = Identity() if bounds is None else bounds
    inside = np.isfinite(archive.points).all(axis=1) if bounds is None else bounds.inside(archive.points)
    points = transform.to_free(archive.points[inside], np.random.default_rng(0))
    log_prob = archive.log_prob[inside] + transform.log_volume(points)
    usable = np.isfinite(points).all(axis=1) & ~np.isnan(log_prob) & (log_prob < np.inf)
    return points[usable], log_prob[usable]


def in_user_units(draws: Draws, transform: Transform) -> Draws:
    """The user's parameters and log-density, from free particles and theirs."""
    pool = draws.pool
    if pool is not None:
        log_prob = pool.log_prob - transform.log_volume(pool.points)
        pool = replace(pool, points=transform.to_user(pool.points), log_prob=log_prob)
    log_prob = draws.log_prob - transform.log_volume(draws.particles)
    return Draws(transform.to_user(draws.particles), draws.weights, log_prob, pool)


@dataclass(frozen=True)
class FreeInitial:
    """A distribution of the user's parameters, cut off at their bounds, as one of the free parameters."""

    initial: Initial
    bounds: Bounds

    @property
    def dimension(self) -> int:
        """The number of free parameters."""
        return sum(parameter.num_free for parameter in self.bounds.parameters)

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        """Draws inside the bounds; others are drawn anew."""
        found: list[Array] = []
        for _ in range(_MOST_ROUNDS):
            draws = self.initial.sample(num_points, rng)
            found.append(draws[self.bounds.inside(draws)])
            if sum(map(len, found)) >= num_points:
                return self.bounds.to_free(np.concatenate(found)[:num_points], rng)
        raise ValueError(
            f"only {sum(map(len, found))} of {_MOST_ROUNDS * num_points} draws of `initial` lie inside the bounds; "
            "choose an `initial` that overlaps them more"
        )

    def log_prob(self, x: Array) -> Array:
        log_terms = np.array([self.initial.log_prob(turned) for turned in self._turns(self.bounds.to_user(x))])
        return np.asarray(logsumexp(log_terms, axis=0) + self.bounds.log_volume(x) - self._log_share_inside)

    def score(self, x: Array) -> Array:
        turns = self._turns(self.bounds.to_user(x))
        log_terms = np.array([self.initial.log_prob(turned) for turned in turns])
        scores = np.array([self.initial.score(turned) for turned in turns])
        shares = np.exp(log_terms - logsumexp(log_terms, axis=0))
        return self.bounds.free_score(np.einsum("kn,knd->nd", shares, scores), x)

    def _turns(self, x: Array) -> list[Array]:
        """The points with angles as near as can be to the middle of the distribution, and a turn further and back."""
        widths = [each.high - each.low if isinstance(each, Periodic) else 0.0 for each in self.bounds.parameters]
        angles = [k for k, width in enumerate(widths) if width]
        near = x.copy()
        for k in angles:
            near[:, k] += widths[k] * np.round((self._middle[k] - x[:, k]) / widths[k])
        turned = angles[:_MOST_TURNED]
        turns = np.zeros((3 ** len(turned), len(widths)))
        turns[:, turned] = np.array(list(product((-1, 0, 1), repeat=len(turned)))).reshape(len(turns), -1)
        return [near + turn * widths for turn in turns]

    @cached_property
    def _log_share_inside(self) -> float:
        """The logarithm of the part of the distribution that the bounds leave, by counting draws."""
        draws = self.initial.sample(_DRAWS_FOR_SHARE, np.random.default_rng(0))
        return float(np.log(max(self.bounds.inside(draws).mean(), 1 / _DRAWS_FOR_SHARE)))

    @cached_property
    def _middle(self) -> Array:
        return np.asarray(np.median(self.initial.sample(1000, np.random.default_rng(0)), axis=0))


@dataclass(frozen=True)
class Uniform:
    """The same density everywhere between the bounds: the initial distribution if none was given."""

    bounds: Bounds

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return len(self.bounds.parameters)

    def sample(self, num_points: int, rng: np.random.Generator) -> Array:
        low, high = self._ends
        return rng.uniform(low, high, size=(num_points, self.dimension))

    def log_prob(self, x: Array) -> Array:
        low, high = self._ends
        inside = ((x >= low) & (x <= high)).all(axis=1)
        return np.where(inside, -np.log(high - low).sum(), -np.inf)

    def score(self, x: Array) -> Array:
        return np.zeros_like(x)

    @property
    def _ends(self) -> tuple[Array, Array]:
        ends = [(each.low, each.high) for each in self.bounds.parameters if isinstance(each, Between | Periodic)]
        if len(ends) < self.dimension:
            raise ValueError("expected `initial`, since not all bounds are finite")
        low, high = np.array(ends).T
        return low, high


def _free_particles(particles: Array, bounds: Bounds, rng: np.random.Generator) -> Array:
    """The user's particles as free points; all must lie inside the bounds."""
    outside = np.flatnonzero(~bounds.inside(particles))
    if outside.size:
        row = int(outside[0])
        raise ValueError(
            f"expected particles inside the bounds; {outside.size} rows of `initial` are not, the first is row {row}: "
            f"{particles[row].tolist()}"
        )
    return bounds.to_free(particles, rng)
