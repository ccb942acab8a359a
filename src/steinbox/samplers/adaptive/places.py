"""Where climbs begin: at maxima among scattered draws, and at points that nothing known explains."""

from __future__ import annotations

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.densities.gaussian import Gaussian
from steinbox.numerics.topography import graph_maxima
from steinbox.samplers.adaptive.ascents import ClimbsMemory, find_known
from steinbox.samplers.adaptive.known import Known
from steinbox.samplers.adaptive.proposer import View

SCAN = "scan"  # the proposer of draws that look for places to climb from
SCATTERED = ("initial", SCAN)  # whose draws are not led by what was found, or not closely
_WIDER = 2.0  # factor by which draws from around what was found are farther out
_MORE_NEIGHBORS = 2  # than dimensions: points of the topograph that a maximum must be higher than


def choose_maxima(view: View, memory: ClimbsMemory, number: int) -> Array:
    """Maxima among scattered draws, the highest first, but for those that are known, or beside a place climbed from.

    There is about one in every basin that the draws have resolved, however far below its top.
    """
    archive = view.archive
    rows = np.flatnonzero(archive.is_from(SCATTERED) & np.isfinite(archive.log_prob))
    points = (archive.points[rows] - memory.center) / memory.scale
    maxima, neighbors = graph_maxima(points, archive.log_prob[rows], archive.dimension + _MORE_NEIGHBORS)
    tried = {tuple(start) for start in memory.starts}
    is_tried = np.array([tuple(point) in tried for point in points], dtype=bool)
    maxima = rows[maxima[~(is_tried[maxima] | is_tried[neighbors].any(axis=1))]]
    is_known = find_known(memory, view).explains(
        archive.points[maxima], archive.log_prob[maxima], view.tuning.min_excess
    )
    return np.asarray(archive.points[maxima[~is_known][:number]])


def choose_open(view: View, memory: ClimbsMemory, number: int, rng: np.random.Generator) -> Array:
    """Points that nothing known explains: denser ones, and one that is far less dense, of which nothing can be said."""
    known = find_known(memory, view)
    excess, is_above, is_below = known.compare(view.tuning.min_excess)
    if view.tempering < 1:  # other draws show what weights have found
        is_above, is_below = is_above & view.archive.is_initial, is_below & view.archive.is_initial
    num_above = number if not is_below.any() else max(number - 1, 1)
    above = _choose(known, excess, is_above, num_above, rng)
    return np.concatenate([above, _choose(known, excess, is_below, min(number - len(above), 1), rng)])


def _choose(known: Known, excess: Array, is_open: Mask, number: int, rng: np.random.Generator) -> Array:
    """One of the densest of the open points, and others farther out.

    Among points about as dense as each other, one is the more likely to be chosen the larger a part of its distance to
    the top, in nats, is explained by nothing.
    """
    archive, rows = known.archive, np.flatnonzero(is_open)
    if number < 1 or len(rows) == 0:
        return archive.points[:0]
    rows = rows[np.argsort(-archive.log_prob[rows], kind="stable")]
    parts = 1 / (1 + (known.highest - archive.log_prob[rows] + 1) / np.abs(excess[rows]))
    ends = np.geomspace(1, len(rows) + 1, number + 1)[1:-1].astype(int) - 1
    strata = [each for each in np.split(np.arange(len(rows)), ends) if len(each)]
    chosen = [rng.choice(each, p=parts[each] / parts[each].sum()) for each in strata]
    return np.asarray(archive.points[rows[chosen]])


def spread_around(view: View) -> Gaussian:
    """A Gaussian twice as wide as the weighted points: a mode may be beyond the start."""
    sample = view.archive.tempered(view.tempering)
    centered = sample.points - sample.weights @ sample.points
    cov = _WIDER**2 * (centered * sample.weights[:, None]).T @ centered
    return Gaussian(sample.weights @ sample.points, cov=0.5 * (cov + cov.T) + 1e-300 * np.eye(len(cov)))
