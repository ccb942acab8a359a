"""Questions about the function itself, asked when its values look like those of no log-density."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.evaluation import Archive
from steinbox.maps.bounds import Bounds, Free
from steinbox.run.loop import Outcome
from steinbox.run.problem import Task
from steinbox.run.status import Status

MIN_VALUES = 50  # evaluations inside the support: of fewer nothing is said
NEAR_ZERO = 1e-3  # of the largest value: what the tails of a density are below
MIN_SHARE_NEAR_ZERO = 0.1  # of the values: a density has as many in its tails, wherever the start is
MAX_REACH = 100.0  # standard deviations of the start: a target farther away or wider is unusual
NUM_PARTS = 5  # of a run: its last part is compared with its middle one
MAX_GROWTH = 1.4  # from the middle to the last part: chains on proper targets, even badly started, stay below
MAX_WIDTH = 5.0  # of the start: particles that are annealed from a narrower one spread to the end, and rightly

_IS_IT_PROPER = "Is the density proper, or does it fall off too slowly for its integral to be finite?"
_IS_IT_MINUS = "Does log_prob return minus the log-density?"


def ask_about_values(archive: Archive, bounds: Bounds | None) -> Iterator[str]:
    """Whether a flat density was meant, or a density was given in place of its logarithm.

    Examples
    --------
    >>> points = np.linspace(-4, 4, 100)[:, None]
    >>> archive = Archive(points, np.exp(-points[:, 0] ** 2), np.zeros(100))
    >>> [question[-52:] for question in ask_about_values(archive, None)]
    ['Is it the density itself? Then return its logarithm.']
    """
    inside = np.isfinite(archive.log_prob)
    points, values = archive.points[inside], archive.log_prob[inside]
    if len(values) < MIN_VALUES:
        return
    low, high = values.min(), values.max()
    is_open = bounds is None or any(isinstance(each, Free) for each in bounds.parameters)
    if low == high and len(values) == len(archive) and is_open:
        yield (
            f"log_prob is {high:g} at all {len(values):,} points. Does it depend on its parameters? A density that is "
            "flat everywhere cannot be sampled without bounds: give bounds."
        )
    elif low >= 0 < high and _has_tails(points, values < NEAR_ZERO * high):
        yield (
            f"log_prob is never negative, and close to zero at many points (from {low:.2g} to {high:.2g}). Is it the "
            "density itself? Then return its logarithm."
        )


def _has_tails(points: Array, is_small: Mask) -> bool:
    """Whether small values are as many as in the tails of a density, and around the others, not amid them."""
    if is_small.mean() <= MIN_SHARE_NEAR_ZERO:
        return False
    return bool(is_small.all() or np.median(_width(points[is_small]) / _width(points[~is_small])) > 1)


def ask_about_names(argument: str, given: Collection[str], known: Collection[str]) -> Iterator[str]:
    """Whether units or descriptions were given to names that there are.

    Examples
    --------
    >>> list(ask_about_names("units", {"mas": "kg"}, ["mass"]))
    ["units= names 'mas', which is neither a parameter nor a derived quantity; there are mass. Is it misspelled?"]
    """
    for name in sorted(set(given) - set(known)):
        yield (
            f"{argument}= names {name!r}, which is neither a parameter nor a derived quantity; there are "
            f"{', '.join(sorted(known))}. Is it misspelled?"
        )


def ask_about_spread(outcome: Outcome, task: Task, archive: Archive) -> Iterator[str]:
    """Whether the density is improper, if the particles of a run that did not converge went far, and on and on."""
    if outcome.status is Status.CONVERGED:
        return
    start = task.transform.forward(task.problem.particles)
    scale = np.maximum(start.std(axis=0), np.finfo(np.float64).tiny)
    reach = np.median(np.abs(outcome.sample.particles - start.mean(axis=0)) / scale, axis=0)
    farthest = int(np.argmax(reach))
    if reach[farthest] > MAX_REACH:
        yield (
            f"In most particles, {task.names[farthest]} is more than {reach[farthest]:.3g} standard deviations of the "
            f"start away from the start. {_IS_IT_MINUS} {_IS_IT_PROPER} Give bounds, or a prior."
        )
    elif outcome.sample.pool is None and len(archive) >= NUM_PARTS * MIN_VALUES:
        yield from _ask_about_growth(archive, task)


def _ask_about_growth(archive: Archive, task: Task) -> Iterator[str]:
    """Whether the density is improper, if moving particles are far wider than their start, and spread all the time."""
    parts = np.array_split(archive.points, NUM_PARTS)
    first, middle, last = (_width(x) for x in (archive.points[: task.problem.num_particles], parts[2], parts[-1]))
    grows = (last > MAX_GROWTH * middle) & (last > MAX_WIDTH * first)
    for k in np.flatnonzero(grows)[:1]:
        yield (
            f"The range of {task.names[k]} was still growing at the end: it is {last[k] / first[k]:.2g} times as wide "
            f"as the start, and {last[k] / middle[k]:.2g} times as wide as in the middle of the run. {_IS_IT_PROPER} "
            "Allow more evaluations, or give bounds or a prior."
        )


def _width(points: Array) -> Array:
    """The range of the middle 80% of every parameter."""
    low, high = np.quantile(points, [0.1, 0.9], axis=0)
    return np.asarray(np.maximum(high - low, np.finfo(np.float64).tiny))
