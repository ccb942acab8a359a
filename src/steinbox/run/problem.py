"""What was asked, understood: initial distribution, particles and earlier values, all as free parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import whole_number
from steinbox.common.noise import Noise, as_noise
from steinbox.densities.bounded import FreeInitial, Uniform
from steinbox.densities.initial import Initial, as_initial, fit_initial, path_start
from steinbox.evaluation import Archive
from steinbox.maps.bijection import Bijection, Identity
from steinbox.maps.bounds import Bounds, as_bounds
from steinbox.samplers.base import Method, Problem, Sample

DEFAULT_PARTICLES = 200
DEFAULT_EVALS = 20_000
MIN_DEFAULT_ROUNDS = 10  # of all particles, if that is more evaluations


@dataclass(frozen=True, eq=False)
class Task:
    """The problem as the sampler sees it, and what only the run and its result know of it.

    ``archive`` are evaluations of earlier runs, ``config`` is the method with its settings, and ``constants`` are the
    parameters that are held.
    """

    problem: Problem
    names: tuple[str, ...]
    bounds: Bounds | None
    archive: Archive | None
    config: dict[str, Any]
    constants: Mapping[str, Any]

    @property
    def transform(self) -> Bijection:
        """The map from free to the user's parameters."""
        return Identity() if self.bounds is None else self.bounds


def understand(
    method: Method[Any],
    initial: object,
    num_particles: int | None,
    max_evals: int | None,
    noise: float | bool | Noise | None,
    bounds: Sequence[object] | None,
    names: Sequence[str] | None,
    archive: Archive | None,
    constants: Mapping[str, Any],
    rng: np.random.Generator,
) -> Task:
    """Check what was asked and draw the first particles."""
    limits = None if bounds is None else as_bounds(bounds)
    assumed = as_noise(noise)
    distribution, particles = draw_particles(initial, num_particles, limits, rng)
    budget = choose_budget(max_evals, method, len(particles))
    problem = Problem(distribution, particles, budget)
    if assumed is not None:
        problem = replace(problem, noise=assumed.std or True, is_unbiased=assumed.is_unbiased)
    checked_names = check_names(names, problem.dimension if limits is None else len(limits.parameters))
    config = {"method": type(method).__name__, "settings": describe(method), "max_evals": budget}
    if archive is not None:
        check_archive(archive, len(checked_names))
    held = {name: describe(value) for name, value in constants.items()}
    return Task(problem, checked_names, limits, archive, config, held)


def draw_particles(
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


def free_values(archive: Archive, bounds: Bounds | None) -> tuple[Array, Array]:
    """An archive's points and log-densities, as samplers see them; what is beyond the bounds is left out."""
    points, log_prob = archive.points, archive.log_prob
    if bounds is not None:
        inside = bounds.inside(points)
        points = bounds.inverse(points[inside], rng=0)
        log_prob = log_prob[inside] + bounds.log_det(points)
    usable = np.isfinite(points).all(axis=1) & ~np.isnan(log_prob) & (log_prob < np.inf)
    return points[usable], log_prob[usable]


def to_user_units(sample: Sample, transform: Bijection) -> Sample:
    """The user's parameters and log-density, from free particles and theirs."""
    pool = sample.pool
    if pool is not None:
        log_prob = pool.log_prob - transform.log_det(pool.points)
        pool = replace(pool, points=transform.forward(pool.points), log_prob=log_prob)
    log_prob = sample.log_prob - transform.log_det(sample.particles)
    return replace(sample, particles=transform.forward(sample.particles), log_prob=log_prob, pool=pool)


def choose_budget(max_evals: int | None, method: Method[Any], num_particles: int) -> int:
    """What was asked for, what the method's settings need, or the default."""
    if max_evals is not None:
        return whole_number("max_evals", max_evals, 1)
    return method.evals_needed(num_particles) or max(DEFAULT_EVALS, MIN_DEFAULT_ROUNDS * num_particles)


def check_names(names: Sequence[str] | None, dimension: int) -> tuple[str, ...]:
    """The parameters' names; ``x0, x1, …`` if none were given."""
    if names is None:
        return tuple(f"x{k}" for k in range(dimension))
    if isinstance(names, str) or len(names) != dimension or len(set(names)) != dimension:
        raise ValueError(f"expected {dimension} different names, one per parameter, got {list(names)}")
    return tuple(map(str, names))


def check_archive(archive: object, dimension: int) -> None:
    """Refuse what is no archive, or one of another problem."""
    if not isinstance(archive, Archive) or archive.points.shape[1] != dimension:
        raise ValueError(f"expected an archive of points in {dimension} dimensions, got {archive!r}")


def describe(value: object) -> Any:
    """Settings as JSON can hold them: numbers and text as they are, components by name, the rest by repr."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {"name": type(value).__name__} | {f.name: describe(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    text = repr(value)
    return f"{type(value).__module__}.{type(value).__qualname__}" if " at 0x" in text else text


def _free_particles(particles: Array, bounds: Bounds, rng: np.random.Generator) -> Array:
    """The user's particles as free points; all must lie inside the bounds."""
    outside = np.flatnonzero(~bounds.inside(particles))
    if outside.size:
        row = int(outside[0])
        raise ValueError(
            f"expected particles inside the bounds; {outside.size} rows of `initial` are not, the first is row {row}: "
            f"{particles[row].tolist()}"
        )
    return bounds.inverse(particles, rng)
