r"""The search for missed mass: where the target is much denser than anything that was fitted.

.. code-block:: text

   scan ─► points with log p − log(Ẑ q) > 5 ─► cluster ─► lead: Gaussians fitted to its own tempered weights, batch
   after batch ─► weights are even: its mass is known ─► a component of the fit, or nothing

A scan draws from the initial distribution, from a wider one, and from components of the fit made narrow. What it comes
upon is followed, one cluster after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.em import WeightedPoints, fit_mixture
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.initial import Initial
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.weights import effective_sample_size, normalize, temper
from steinbox.samplers.adaptive.proposer import Block, Discovery, Offer, Proposer, View
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive, finite_log_weights

_MAX_SCANS = 2
_MIN_EVEN_BATCHES = 3  # with even weights before the first scan, or one late in the run
_LATE = 0.4  # of the budget
_MIN_POINTS = 5  # to fit a Gaussian to
_MAX_CLUSTERED = 300  # points, the densest
_CLUSTER_GAP = 2.0  # in median distances to the nearest other point: farther from a denser one is another cluster
_MIN_DISTANCE = 1e-9  # between points, in standard deviations of the initial distribution


@serializable("adaptive-search-waiting")
@dataclass(frozen=True)
class Waiting:
    """No scan is under way."""


@serializable("adaptive-search-looking")
@dataclass(frozen=True)
class Looking:
    """A scan was made, or a lead has come to its end: there may be a lead to follow."""


@serializable("adaptive-lead")
@dataclass(frozen=True, eq=False)
class Lead:
    """Points that are being followed: those it began with, where its own draws start, and what it draws from.

    It is certain if that was fitted to weights that are nearly even. ``heights`` are the mean log-densities so far.
    """

    rows: IntegerArray
    start: int
    heights: tuple[float, ...]
    density: GaussianMixture
    is_certain: bool


@serializable("adaptive-search")
@dataclass(frozen=True, eq=False)
class SearchMemory:
    """How far the search has come: ``settled`` are the rows that leads have gone through."""

    phase: Waiting | Looking | Lead = field(default_factory=Waiting)
    num_evals: int = 0
    num_scans: int = 0
    num_failed: int = 0
    settled: IntegerArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class MissedMass(Proposer):
    """Two scans: one when the weights are even, one before stopping early; and whatever they come upon."""

    name = "search"

    def propose(self, view: View, memory: SearchMemory | None, rng: np.random.Generator) -> tuple[Offer, SearchMemory]:
        memory = SearchMemory() if memory is None else memory
        if not isinstance(memory.phase, Waiting):
            return self._follow(view, memory, rng)
        if _is_due(view, memory):
            return self._scan(view, memory, rng)
        return None, memory

    def is_done(self, view: View, memory: SearchMemory | None) -> bool:
        """Whether all scans are done, and all that they came upon was followed."""
        return memory is not None and _is_done(memory)

    def _scan(self, view: View, memory: SearchMemory, rng: np.random.Generator) -> tuple[Offer, SearchMemory]:
        """Of everything; the last one of the initial distribution alone, and with most of the room there is."""
        memory = replace(memory, num_scans=memory.num_scans + 1, num_failed=0)
        room = _room(view, memory)
        if room < 2 * view.tuning.min_search_batch or view.fit is None:
            return None, memory
        if memory.num_scans == _MAX_SCANS:
            size = int(view.tuning.last_scan_fraction * room)
            block = Block(view.initial.sample(size, rng), (Source(self.name, None, size),))
        else:
            block = self._first_scan(view, min(view.batch_size, room // 2), rng)
        return block, replace(memory, phase=Looking(), num_evals=memory.num_evals + len(block.points))

    def _first_scan(self, view: View, size: int, rng: np.random.Generator) -> Block:
        assert view.fit is not None
        num_narrow = min(view.tuning.num_narrow, size // 5)
        num_wide, wide = size - num_narrow, widen(view.initial, rng)
        narrow = view.fit.fitted.density.scale_components(view.tuning.narrow_widths)
        draws = [
            view.initial.sample(size, rng),
            wide.quasi_random(num_wide, rng),
            narrow.quasi_random(num_narrow, rng),
        ]
        densities, counts = (None, wide, narrow), (size, num_wide, num_narrow)
        sources = tuple(Source(self.name, each, count) for each, count in zip(densities, counts, strict=True))
        return Block(np.concatenate(draws), sources)

    def _follow(self, view: View, memory: SearchMemory, rng: np.random.Generator) -> tuple[Offer, SearchMemory]:
        """A batch of the lead, a discovery at its end, or nothing if there is no lead to follow any more."""
        tuning, room = view.tuning, _room(view, memory)
        if isinstance(memory.phase, Lead):
            discovery, memory = _continue_lead(view, memory, memory.phase, room, rng)
            if discovery is not None:
                return discovery, memory
        phase, can_go_on = memory.phase, room >= tuning.min_search_batch
        if isinstance(phase, Looking) and memory.num_failed < tuning.max_failed_leads and can_go_on:
            phase = find_lead(view, memory.settled, rng) or phase
        if not (isinstance(phase, Lead) and can_go_on):
            return None, replace(memory, phase=Waiting())
        size = min(max(50, 5 * view.archive.dimension), room)
        block = Block(phase.density.quasi_random(size, rng), (Source(self.name, phase.density, size),))
        return block, replace(memory, phase=phase, num_evals=memory.num_evals + size)


def _is_done(memory: SearchMemory) -> bool:
    return memory.num_scans >= _MAX_SCANS and isinstance(memory.phase, Waiting)


def _is_due(view: View, memory: SearchMemory) -> bool:
    """When the weights are even, for a while or late in the run, and once more before stopping early."""
    if view.fit is None or _is_done(memory):
        return False
    if memory.num_scans > 0:
        return view.is_enough
    num_even = sum(milestone.tempering == 1 for milestone in view.path)
    is_late = view.num_evals > _LATE * view.max_evals
    return num_even >= _MIN_EVEN_BATCHES or (is_late and view.tempering == 1)


def _room(view: View, memory: SearchMemory) -> int:
    """How many evaluations the search may still use."""
    most = view.tuning.max_search_fraction * view.max_evals
    first = np.clip(view.tuning.first_search_evals, most / 2, most)
    return min(view.num_left, int(most if memory.num_scans > 1 else first) - memory.num_evals)


def _continue_lead(
    view: View, memory: SearchMemory, lead: Lead, room: int, rng: np.random.Generator
) -> tuple[Discovery | None, SearchMemory]:
    """The lead's next Gaussian; no lead if it has come to its end, with a discovery if there was any mass."""
    archive, tuning, excess = view.archive, view.tuning, excess_log_density(view)
    rows = np.concatenate([lead.rows, np.arange(lead.start, len(archive))])
    settled = np.concatenate([memory.settled, rows])
    failed = replace(memory, phase=Looking(), num_failed=memory.num_failed + 1, settled=settled)
    rows = rows[excess[rows] > tuning.min_excess]
    fit = fit_locally(archive, rows, rng)
    if fit is None:
        return None, failed
    heights, mass = (*lead.heights, fit.mean(archive.log_prob[rows])), share(archive, rows)
    is_certain = fit.power > tuning.even_power
    goes_back = len(lead.heights) > 1 and _goes_back(view, excess, fit.mean(excess[rows]))
    if mass < tuning.negligible_mass and (is_certain or goes_back or not _arrives(view, heights)):
        return None, failed
    is_last = mass >= tuning.negligible_mass and room < tuning.min_search_batch
    if (is_certain and lead.is_certain) or is_last:
        memory = replace(memory, phase=Looking(), num_failed=0, settled=settled)
        return Discovery(_weight(view, rows, fit), mass), memory
    lead = replace(lead, heights=heights, density=fit.density, is_certain=is_certain)
    return None, replace(memory, phase=lead)


def _weight(view: View, rows: IntegerArray, fit: LocalFit) -> WeightedPoints:
    weights = normalize(fit.power * view.archive.log_weights[rows])
    return WeightedPoints(view.archive.points[rows], weights, effective_sample_size(weights))


def _goes_back(view: View, excess: Array, mean_excess: float) -> bool:
    """Whether the lead goes to where the fit is: few of its last points were missed, or none by much."""
    is_new = excess[-max(view.archive.sources[-1].count, 1) :] > view.tuning.min_excess
    return bool(is_new.mean() < view.tuning.min_new_fraction or mean_excess < view.tuning.min_mean_excess)


def _arrives(view: View, heights: tuple[float, ...]) -> bool:
    """Whether the lead would come to where the weight is in time, if it went on as in its second half."""
    num_batches = len(heights) - 1
    if num_batches == 1:
        return True
    weights = normalize(view.archive.log_weights)
    inside = weights > 0
    missing = float(weights[inside] @ view.archive.log_prob[inside]) - heights[-1]
    half = num_batches // 2
    per_batch = (heights[-1] - heights[half]) / (num_batches - half)
    return missing < per_batch * (view.tuning.max_lead_batches - num_batches)


def widen(initial: Initial, rng: np.random.Generator) -> GaussianMixture:
    """A Gaussian twice as wide as the initial distribution."""
    draws = initial.sample(1000, rng)
    return GaussianMixture([Gaussian(draws.mean(axis=0), cov=4 * np.atleast_2d(np.cov(draws.T)))])


# -- leads -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LocalFit:
    """A Gaussian fitted to some points, and their weights in the fit, tempered to a power."""

    density: GaussianMixture
    power: float
    weights: Array

    def mean(self, values: Array) -> float:
        """Of something at the points."""
        return float(self.weights @ values)


def excess_log_density(view: View) -> Array:
    r"""How much denser than fitted every point is, :math:`\log p - \log(\hat Z q)`, in nats."""
    archive = view.archive
    fitted = np.full(len(archive), -np.inf) if view.fit is None else view.fit.fitted.density.log_prob(archive.points)
    return np.asarray(archive.log_prob - archive.log_evidence - fitted)


def share(archive: WeightedArchive, rows: IntegerArray) -> float:
    """How much of all weight some points hold."""
    return float(normalize(archive.log_weights)[rows].sum())


def find_lead(view: View, settled: IntegerArray, rng: np.random.Generator) -> Lead | None:
    """A lead from the densest point that was missed and that none has gone through, if there is one."""
    archive = view.archive
    is_open = excess_log_density(view) > view.tuning.min_excess
    is_open[settled] = False
    rows = np.flatnonzero(is_open)
    if not len(rows):
        return None
    rows = rows[np.argsort(-archive.log_prob[rows], kind="stable")][:_MAX_CLUSTERED]
    scale = view.initial.sample(1000, rng).std(axis=0)
    nearest = _distance_to_others(archive.points / scale, rows)
    rows = rows[_first_cluster(archive.points[rows] / scale, _CLUSTER_GAP * float(np.median(nearest)))]
    fit = fit_locally(archive, rows, rng)
    if fit is None:
        rows = rows[:1]
        std = 0.5 * max(nearest[0], _MIN_DISTANCE) / np.sqrt(len(scale)) * scale
        fit = LocalFit(GaussianMixture([Gaussian(archive.points[rows[0]], std=std)]), 0.0, np.ones(1))
    height = fit.mean(archive.log_prob[rows])
    return Lead(rows, len(archive), (height,), fit.density, fit.power > view.tuning.even_power)


def fit_locally(archive: WeightedArchive, rows: IntegerArray, rng: np.random.Generator) -> LocalFit | None:
    """A Gaussian to draw from next; None if there are too few points."""
    if len(rows) < _MIN_POINTS:
        return None
    log_weights = finite_log_weights(archive.log_weights[rows])
    wanted = max(_MIN_POINTS, min(3 * archive.dimension, 0.5 * len(rows)))
    power = temper(log_weights, wanted)
    weights = normalize(power * log_weights)
    sample = WeightedPoints(archive.points[rows], weights, effective_sample_size(weights))
    return LocalFit(fit_mixture(sample, 1, rng), power, weights)


def _distance_to_others(points: Array, rows: IntegerArray) -> Array:
    """From some of the points to the nearest other point."""
    squares = squared_distances(points[rows], points)
    squares[np.arange(len(rows)), rows] = np.inf
    return np.asarray(np.sqrt(squares.min(axis=1)))


def _first_cluster(points: Array, longest: float) -> IntegerArray:
    """Which points, sorted by density, are linked to the first by steps to the nearest denser one (quick shift)."""
    squares = squared_distances(points, points)
    belongs = np.zeros(len(points), dtype=bool)
    belongs[0] = True
    for k in range(1, len(points)):
        nearest = int(squares[k, :k].argmin())
        belongs[k] = belongs[nearest] and squares[k, nearest] <= longest**2
    return np.flatnonzero(belongs)
