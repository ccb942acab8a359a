"""Where climbs begin: at maxima among scattered draws, and at points that nothing known explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.topography import graph_maxima
from steinbox.samplers.adaptive.ascents import ClimbsMemory, find_known
from steinbox.samplers.adaptive.known import Summit
from steinbox.samplers.adaptive.proposer import View
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive

SCAN = "scan"  # the proposer of draws that look for places to climb from
SCATTERED = ("initial", SCAN)  # proposers whose draws are of all scales
_MORE_NEIGHBORS = 2  # than dimensions: points of the topograph that a maximum must be higher than


def scattered_rows(archive: WeightedArchive) -> IntegerArray:
    """Which points of the archive are scattered draws, inside the support."""
    return np.flatnonzero(archive.is_from(SCATTERED) & np.isfinite(archive.log_prob))


def choose_maxima(view: View, memory: ClimbsMemory, number: int) -> Array:
    """Maxima among scattered draws, the least explained first, but for those known or beside a place climbed from.

    There is about one in every basin that the draws have resolved, however far below its top.
    """
    archive, rows, known = view.archive, scattered_rows(view.archive), find_known(memory, view)
    points = (archive.points[rows] - memory.center) / memory.scale
    maxima, neighbors = graph_maxima(points, archive.log_prob[rows], archive.dimension + _MORE_NEIGHBORS)
    tried = {tuple(start) for start in memory.starts}
    is_tried = np.array([tuple(point) in tried for point in points], dtype=bool)
    maxima = rows[maxima[~(is_tried[maxima] | is_tried[neighbors].any(axis=1))]]
    maxima = maxima[~known.explains(archive.points[maxima], archive.log_prob[maxima], view.tuning.min_excess)]
    order = np.argsort(-known.unexplained_part(archive.points[maxima], archive.log_prob[maxima]), kind="stable")
    return np.asarray(archive.points[maxima[order][:number]])


def choose_open(view: View, memory: ClimbsMemory, number: int, rng: np.random.Generator) -> Array:
    """Scattered draws that nothing known explains, at random: denser ones, or far less dense ones.

    The larger a part of its distance to the top nothing explains, the more likely a draw is to be chosen.
    """
    known, rows = find_known(memory, view), scattered_rows(view.archive)
    points, log_prob = view.archive.points[rows], view.archive.log_prob[rows]
    is_open = known.is_open(points, log_prob, view.tuning.min_excess)
    points, log_prob = points[is_open], log_prob[is_open]
    if number < 1 or len(points) == 0:
        return points[:0]
    parts = np.abs(known.unexplained_part(points, log_prob))
    chosen = rng.choice(len(points), min(number, len(points)), replace=False, p=parts / parts.sum())
    return np.asarray(points[chosen])


def spread_around(modes: Sequence[Summit], center: Array, scale: Array) -> GaussianMixture:
    r"""Balls around every mode, in units of the start: as large as it, half as large, …, as large as the mode.

    Let a known mode have the standard deviation :math:`\sigma_1`. The basin of another at distance :math:`\Delta`, with
    :math:`\sigma < \sigma_1`, is a ball of radius :math:`\Delta\, \sigma \sigma_1 / (\sigma_1^2 - \sigma^2)`. Draws of
    a start much wider than that are outside, and so are draws close to the known mode. It takes the largest part of
    all directions at :math:`\Delta / \sqrt{1 - \sigma^2 / \sigma_1^2}` from that; no :math:`\Delta` is known, hence all
    scales.
    """
    components = [
        Gaussian(center + scale * mode.point, std=2.0**-k * scale)
        for mode in modes
        for k in range(max(int(-0.5 * np.log2(np.linalg.eigvalsh(mode.covariance)[-1])), 1))
    ]
    return GaussianMixture(components)
