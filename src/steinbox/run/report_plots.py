"""What the plots of a report show: few enough points to be drawn, and axes that fit them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.labels import label
from steinbox.maps.bounds import Between, OneSided, Parameter, Periodic
from steinbox.numerics.weights import systematic_resample
from steinbox.report import Cloud, Curve, Way
from steinbox.run.status import Status
from steinbox.run.summary import scalars

if TYPE_CHECKING:
    from steinbox.run.record import Record
    from steinbox.run.result import Result

_NUM_DRAWS = 3000  # of the pool, that the densities are shaded from
_MAX_PARTICLES = 1000
_MAX_EVALUATIONS = 2000  # behind the slider
_MAX_FRAME_NUMBERS = 200_000  # coordinates of recorded particles
_NUM_PLACES = 100  # of the slider
_MAX_ITERATIONS = 2000  # of a trace
_PADDING = 0.06  # of an axis


def make_cloud(result: Result) -> Cloud:
    """Draws of the pool and the particles, with the derived quantities that are numbers."""
    rng = np.random.default_rng(0)
    weights = result.pool_weights if result.pool_weights.any() else np.ones(len(result.pool))
    rows = systematic_resample(weights / weights.sum(), _NUM_DRAWS, rng)
    shown = _evenly(len(result.particles), _MAX_PARTICLES)
    draws, particles = result.pool[rows], result.particles[shown]
    of_pool, of_particles = scalars(result.pool_derived), scalars(result.derived)
    draws = np.column_stack([draws, *(values[rows] for values in of_pool.values())])
    particles = np.column_stack([particles, *(of_particles[name][shown] for name in of_pool)])
    low, high = _limits(np.concatenate([draws, particles[result.weights[shown] > 0]]), 0.002, result)
    return Cloud(
        labels=[label(name, result.units) for name in (*result.names, *of_pool)],
        draws=draws,
        particles=particles,
        weights=result.weights[shown],
        log_prob=result.log_prob[shown],
        low=low,
        high=high,
    )


def make_way(result: Result) -> Way:
    """The particles of recorded moments, or all evaluations in their order."""
    return _frames(result, result.record) if result.record else _evaluations(result)


def _frames(result: Result, record: Record) -> Way:
    num_frames, num_particles, dimension = record.particles.shape
    times = _evenly(num_frames, _NUM_PLACES)
    rows = _evenly(num_particles, max(20, _MAX_FRAME_NUMBERS // (len(times) * dimension)))
    points, log_prob = record.particles[times][:, rows], record.log_prob[times][:, rows]
    begin = np.arange(len(times)) * len(rows)
    points = points.reshape(-1, dimension)
    low, high = _limits(points, 0.005, result)
    caption = f"Dots: the particles after this many evaluations. {_describe_shade(result)}"
    if record.is_flow:
        caption += " Lines: how far each particle has moved since the previous frame."
    return Way(
        caption=caption,
        num_evals=record.num_evals[times],
        begin=begin,
        end=begin + len(rows),
        points=points,
        log_prob=log_prob.reshape(-1),
        low=low,
        high=high,
        is_flow=record.is_flow,
    )


def _evaluations(result: Result) -> Way:
    archive = result.archive
    rows = _evenly(len(archive), _MAX_EVALUATIONS)
    end = np.unique(np.linspace(1, len(rows), _NUM_PLACES).astype(np.int64)) if len(rows) else np.zeros(1, np.int64)
    points = archive.points[rows]
    low, high = _limits(np.concatenate([points, result.particles]), 0.005, result)
    subset = f" ({len(rows):,} of {len(archive):,} are shown)" if len(rows) < len(archive) else ""
    return Way(
        caption=(
            f"Every dot is a successful evaluation{subset}, in order; the latest are highlighted. "
            f"{_describe_shade(result)}"
        ),
        num_evals=rows[end - 1] + 1 if len(rows) else end,
        begin=np.zeros(len(end), dtype=np.int64),
        end=end,
        points=points,
        log_prob=archive.log_prob[rows],
        low=low,
        high=high,
    )


def _describe_shade(result: Result) -> str:
    return f"Shaded: the distribution that the run {'has so far' if result.status is Status.RUNNING else 'ended with'}."


def _evenly(number: int, at_most: int) -> IntegerArray:
    """Rows, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, number - 1, min(number, at_most)).round().astype(np.int64))


def _limits(points: Array, outside: float, result: Result) -> tuple[Array, Array]:
    """The ends of axes that leave a small part of the points outside; not beyond the bounds."""
    low, high = np.array([_axis(column[np.isfinite(column)], outside) for column in points.T]).T
    for k, parameter in enumerate(() if result.bounds is None else result.bounds.parameters):
        low[k], high[k] = np.clip([low[k], high[k]], *_walls(parameter))
    return low, high


def _walls(parameter: Parameter) -> tuple[float, float]:
    """The bounds of a parameter."""
    if isinstance(parameter, OneSided):
        return (parameter.bound, np.inf) if parameter.sign > 0 else (-np.inf, parameter.bound)
    return (parameter.low, parameter.high) if isinstance(parameter, Between | Periodic) else (-np.inf, np.inf)


def _axis(values: Array, outside: float) -> tuple[float, float]:
    if not len(values):
        return -1.0, 1.0
    low, high = np.quantile(values, [outside, 1 - outside])
    if not high > low:
        width = max(abs(low) * 0.05, 1e-3)
        return float(low - width), float(high + width)
    return float(low - _PADDING * (high - low)), float(high + _PADDING * (high - low))


def make_curves(trace: Mapping[str, Array]) -> list[Curve]:
    """Every column of numbers; of very long ones, an even choice."""
    numeric = {name: values for name, values in trace.items() if values.dtype.kind in "fiub" and values.ndim == 1}
    return [
        Curve(name, np.asarray(values, dtype=np.float64)[_evenly(len(values), _MAX_ITERATIONS)])
        for name, values in numeric.items()
        if np.isfinite(values).any()
    ]
