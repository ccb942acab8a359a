"""Where a run begins: initial distribution, particles and known values, all as free parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import whole_number
from steinbox.densities.bounded import FreeInitial, Uniform
from steinbox.densities.initial import Initial, as_initial, fit_initial, path_start
from steinbox.evaluation import Archive
from steinbox.maps.bijection import Bijection
from steinbox.maps.bounds import Bounds
from steinbox.samplers.base import Sample

DEFAULT_PARTICLES = 200


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
    points, log_prob = archive.points, archive.log_prob
    if bounds is not None:
        inside = bounds.inside(points)
        points = bounds.inverse(points[inside], rng=0)
        log_prob = log_prob[inside] + bounds.log_det(points)
    usable = np.isfinite(points).all(axis=1) & ~np.isnan(log_prob) & (log_prob < np.inf)
    return points[usable], log_prob[usable]


def in_user_units(draws: Sample, transform: Bijection) -> Sample:
    """The user's parameters and log-density, from free particles and theirs."""
    pool = draws.pool
    if pool is not None:
        log_prob = pool.log_prob - transform.log_det(pool.points)
        pool = replace(pool, points=transform.forward(pool.points), log_prob=log_prob)
    log_prob = draws.log_prob - transform.log_det(draws.particles)
    return Sample(transform.forward(draws.particles), draws.weights, log_prob, pool)


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
