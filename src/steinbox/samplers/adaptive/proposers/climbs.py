r"""Climbs: where the modes are and how wide, from however far away.

.. code-block:: text

   draws of the start ─► maxima of their topograph ─► climbs, side by side ─► summits ─ Gaussians ─► draws, weighted
            ▲                                          end where known        of several widths        like others
            └──── scans: more of them ◄── no maximum left

An adaptive proposal finds its way by weights, which say nothing where all draws are far from the target. A climb
(:mod:`steinbox.numerics.climb`) finds it by values: some tens of evaluations per dimension lead to a mode that is
thousands of times narrower than the start. What it evaluates are no draws: it shows where to draw from, and is not
weighted. A mode that misleads, such as the neck of a funnel, offers draws of no weight and costs evaluations, no more.

The first climb arrives. Others search for further modes. Half of them begin at draws of the start that are higher than
all their nearest neighbors (:mod:`steinbox.numerics.topography`), the highest first: there is about one in every basin,
however far below its top. The others begin at any points that are not as dense as all that is known says
(:mod:`steinbox.samplers.adaptive.known`). A climb that comes upon what is known ends there. How many draws of the start
lead to what is known is a statement about what was not seen (:class:`~steinbox.samplers.base.Coverage`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array, Mask
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.climb import LENGTHS, Climb, start_climb
from steinbox.numerics.topography import graph_maxima
from steinbox.numerics.weights import normalize
from steinbox.samplers.adaptive.known import Known, Summit, is_small
from steinbox.samplers.adaptive.proposer import Block, Draws, Offer, Probe, Proposer, View
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.weighted_archive import Source
from steinbox.samplers.base import Coverage

_WIDTHS = (1.0, 2.0, 4.0)  # of a summit's covariance: tails may be heavier than a Gaussian's
_WIDTH_SHARES = (0.5, 0.3, 0.2)  # a Gaussian target leaves weights an effective sample size of half the draws or more
_MIN_MASS_SHARE = 0.02  # of a summit in the mixture of all
_MAX_DEFICIT = 50.0  # nats of mass below the heaviest summit: nothing is drawn from one that is lighter
_MAX_MODE_DEFICIT = 10.0  # nats of mass below all that is known: what is lighter is no mode
_MIN_EARNED = 0.11  # of a batch: draws of the summits that earn less, the floor, are no longer offered
_MAX_CONDITION = 1e13  # of a summit's covariance
_MIN_VARIANCE = 1e-24  # in units of the start, squared
_MIN_CLIMBS_PER_ROUND = 3  # then the summits that were found are known to the next
_STEPS_EXPLAINED = 3  # in a row, after which a climb is where what is known is: at a single one, two modes may agree
_ROUND_SHARE = 0.25  # of a batch: evaluations of a round of climbs, if these are cheap
_MIN_EVEN_BATCHES = 2  # with even weights, before points are compared with the fit
SCAN = "scan"  # the proposer of draws that look for places to climb from
SCATTERED = ("initial", SCAN)  # whose draws are not led by what was found, or not closely
_WIDER = 2.0  # factor by which draws from around what was found are farther out
_MORE_NEIGHBORS = 2  # than dimensions: points of the topograph that a maximum must be higher than


@serializable("adaptive-ascent")
@dataclass(frozen=True, eq=False)
class Ascent:
    """A climb under way, and how many of its last steps what is known has explained."""

    climb: Climb
    num_steps: int = 0
    num_explained: int = 0

    def check(self, is_explained: bool) -> Ascent:
        """Count a step, if there is a new one."""
        if self.climb.num_steps == self.num_steps:
            return self
        number = self.num_explained + 1 if is_explained else 0
        return replace(self, num_steps=self.climb.num_steps, num_explained=number)


@serializable("adaptive-climbs")
@dataclass(frozen=True, eq=False)
class ClimbsMemory:
    """What was found so far, and the climbs that are under way, in units of the start.

    ``starts`` are the places where climbs began. ``finds`` says of every climb but the first whether it led to a mode
    not known before, ``costs`` are the evaluations of all that have ended. ``is_stale`` if the last round found nothing
    so far. It ``needs_scan`` before the first round, and when no maximum is left. ``has_find`` if there are finds that
    were not drawn from yet, and ``found_at`` is the number of points when they last were.
    """

    center: Array
    scale: Array
    starts: Array
    ascents: tuple[Ascent, ...] = ()
    summits: tuple[Summit, ...] = ()
    finds: tuple[bool, ...] = ()
    costs: tuple[int, ...] = ()
    num_evals: int = 0
    num_rounds: int = 0
    num_drawn: int = 0
    has_find: bool = False
    found_at: int = 0
    is_stale: bool = False
    needs_scan: bool = False
    is_over: bool = False


def _known(memory: ClimbsMemory, state: View | AdaptiveState) -> Known:
    density = None if state.fit is None or state.tempering < 1 else state.fit.fitted.density
    return Known(memory.summits, memory.center, memory.scale, state.archive, density)


def find_coverage(state: AdaptiveState, min_excess: float) -> Coverage | None:
    """What climbs, and draws of the start, say of modes that were not seen; None if there was no climb."""
    memory = state.memories.get(Climbs.name)
    if memory is None:
        return None
    last = max((k for k, is_find in enumerate(memory.finds) if is_find), default=-1)
    counts = len(memory.finds), sum(memory.finds), len(memory.finds) - 1 - last
    known = _known(memory, state)
    if known.density is None:
        return Coverage(*counts)
    _, is_above, is_below = known.compare(min_excess)
    is_place = state.archive.is_initial
    return Coverage(*counts, int(is_place.sum()), int((is_place & (is_above | is_below)).sum()))


@dataclass(frozen=True)
class Climbs(Proposer):
    """From the best point, to arrive; then from maxima among draws of the start, and from points that are not known.

    Examples
    --------
    >>> import steinbox as sb
    >>> others = [each for each in sb.adaptive.DEFAULT_PROPOSERS if not isinstance(each, sb.adaptive.Climbs)]
    >>> without_climbs = sb.AdaptiveImportanceSampling(proposers=others)
    """

    name = "climbs"

    def propose(
        self, view: View, memory: ClimbsMemory | None, rng: np.random.Generator
    ) -> tuple[Offer, ClimbsMemory | None]:
        if view.is_noisy or (memory is None and not (_can_arrive(view) and _is_time(view))):
            return None, memory
        memory = _settle(view, _arrive(view, rng) if memory is None else memory)
        if _is_due(view, memory):
            memory = memory if memory.needs_scan else _begin(view, memory, rng)
            if memory.needs_scan and not memory.ascents:
                size = int(view.tuning.scan_fraction * view.max_evals)
                if 0 < size <= _room(view, memory) - _usual_cost(view, memory):
                    return self._scan(view, memory, size, rng)
                memory = replace(memory, is_over=True)
        memory = _fit_into(view, memory) if memory.ascents else memory
        if memory.ascents:
            points = np.concatenate([each.climb.ask() for each in memory.ascents])
            return Probe(memory.center + memory.scale * points), memory
        is_new, has_earned = memory.num_drawn < len(memory.summits), view.shares.get(self.name, 1.0) > _MIN_EARNED
        if memory.summits and (is_new or (view.tempering < 1 and has_earned)):
            found_at = len(view.archive) if memory.has_find else memory.found_at
            memory = replace(memory, num_drawn=len(memory.summits), has_find=False, found_at=found_at)
            return Draws(_mixture(memory)), memory
        return None, memory

    def _scan(
        self, view: View, memory: ClimbsMemory, size: int, rng: np.random.Generator
    ) -> tuple[Offer, ClimbsMemory]:
        """Draws to look for places to climb from: of the start, and after the first round half from around finds."""
        num_around = 0 if memory.num_rounds == 0 else size // 2
        around = GaussianMixture([_around(view)])
        draws = np.concatenate([view.initial.sample(size - num_around, rng), around.quasi_random(num_around, rng)])
        sources = Source(SCAN, None, size - num_around), Source(SCAN, around, num_around)
        block = Block(draws, sources[: 1 if num_around == 0 else 2])
        return block, replace(memory, num_evals=memory.num_evals + size, needs_scan=False)

    def learn(self, memory: ClimbsMemory, log_prob: Array) -> ClimbsMemory:
        """Give the climbs the values they asked for."""
        counts = [len(each.climb.ask()) for each in memory.ascents]
        parts = np.split(log_prob, np.cumsum(counts)[:-1])
        ascents = tuple(
            replace(each, climb=each.climb.tell(part)) for each, part in zip(memory.ascents, parts, strict=True)
        )
        return replace(memory, ascents=ascents, num_evals=memory.num_evals + len(log_prob))

    def is_done(self, view: View, memory: ClimbsMemory | None) -> bool:
        """Whether no climb is under way, and the search for further modes is over."""
        return view.is_noisy or (memory is None and not _can_arrive(view)) or (memory is not None and memory.is_over)


# -- when --------------------------------------------------------------------------------------------------------------


def _can_arrive(view: View) -> bool:
    """Whether there is room to climb a quadratic."""
    return _evals_to_quadratic_top(view.archive.dimension) < view.tuning.arrival_fraction * view.max_evals


def _evals_to_quadratic_top(dimension: int) -> int:
    """Evaluations of as many steps as dimensions, which BFGS takes to the top of a quadratic."""
    return dimension * (dimension + len(LENGTHS))


def _is_time(view: View) -> bool:
    """Whether weights are even or, if they go on as they did, will not be in time."""
    tuning = view.tuning
    num_wait = tuning.patience * view.max_evals
    if view.tempering == 1 or view.num_evals >= num_wait:
        return True
    if view.num_evals < num_wait / 3:
        return False
    earlier = [each for each in view.path if each.num_points <= view.num_evals / 2] or [view.path[0]]
    rate = np.log(view.tempering / earlier[-1].tempering) / max(view.num_evals - earlier[-1].num_points, 1)
    return bool(np.log(view.tempering) + rate * (num_wait - view.num_evals) < 0)


def _is_due(view: View, memory: ClimbsMemory) -> bool:
    """Whether to begin a round: on arrival, after one that found something, and when weights are even."""
    if memory.ascents or memory.is_over:
        return False
    if memory.has_find and not memory.is_stale:
        return True
    if view.tempering < 1:
        return memory.num_rounds == 0 and len(memory.summits) > 0
    num_even = sum(milestone.tempering == 1 for milestone in view.path)
    return num_even >= _MIN_EVEN_BATCHES and memory.num_drawn == len(memory.summits)


def _room(view: View, memory: ClimbsMemory) -> int:
    """Evaluations that may still be used to arrive, for a first look, and more if there are several modes."""
    tuning = view.tuning
    share = tuning.search_fraction if memory.num_rounds > 1 else max(tuning.arrival_fraction, tuning.search_fraction)
    share = max(share, tuning.max_climb_fraction) if any(memory.finds) else share
    return min(view.num_left, int(share * view.max_evals) - memory.num_evals)


def _usual_cost(view: View, memory: ClimbsMemory) -> int:
    """Evaluations of a climb: the mean of those that have ended."""
    usual = float(np.mean(memory.costs)) if memory.costs else _evals_to_quadratic_top(view.archive.dimension)
    return max(int(usual), 1)


def _fit_into(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Without the last climbs, if there is no room for all; where they are is a summit of sorts."""
    counts = np.cumsum([len(each.climb.ask()) for each in memory.ascents])
    number = int((counts <= _room(view, memory)).sum())
    ended = tuple(replace(each, climb=each.climb.stop()) for each in memory.ascents[number:])
    settled = _settle(view, replace(memory, ascents=ended))
    return replace(settled, ascents=memory.ascents[:number], finds=memory.finds)


# -- where from --------------------------------------------------------------------------------------------------------


def _arrive(view: View, rng: np.random.Generator) -> ClimbsMemory:
    """The first climb, from the best point: if weights have shown the way, there may be a spike on top."""
    draws = view.initial.sample(1000, rng)
    memory = ClimbsMemory(draws.mean(axis=0), draws.std(axis=0), draws[:0], needs_scan=True)
    best = view.archive.points[int(np.argmax(view.archive.log_prob))]
    return _add(view, memory, best[None])


def _begin(view: View, memory: ClimbsMemory, rng: np.random.Generator) -> ClimbsMemory:
    """The next round, as many climbs as there is room for; it is stale until it finds something."""
    usual = _usual_cost(view, memory)
    number = min(max(_MIN_CLIMBS_PER_ROUND, int(_ROUND_SHARE * view.batch_size / usual)), _room(view, memory) // usual)
    if number < 1:
        return replace(memory, is_over=True)
    maxima = _choose_maxima(view, memory, (number + 1) // 2)
    others = _choose_open(view, memory, number - len(maxima), rng)
    needs_scan = view.tempering == 1 and len(maxima) == 0
    memory = replace(memory, num_rounds=memory.num_rounds + 1, is_stale=True, needs_scan=needs_scan)
    return _add(view, memory, np.concatenate([maxima, others]))


def _add(view: View, memory: ClimbsMemory, points: Array) -> ClimbsMemory:
    most = int(view.tuning.arrival_fraction * view.max_evals / 4)
    starts = (points - memory.center) / memory.scale
    ascents = (*memory.ascents, *(Ascent(start_climb(start, most)) for start in starts))
    return replace(memory, ascents=ascents, starts=np.concatenate([memory.starts, starts]))


def _choose_maxima(view: View, memory: ClimbsMemory, number: int) -> Array:
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
    is_known = _known(memory, view).explains(archive.points[maxima], archive.log_prob[maxima], view.tuning.min_excess)
    return np.asarray(archive.points[maxima[~is_known][:number]])


def _choose_open(view: View, memory: ClimbsMemory, number: int, rng: np.random.Generator) -> Array:
    """Points that nothing known explains: denser ones, and one that is far less dense, of which nothing can be said."""
    known = _known(memory, view)
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


def _around(view: View) -> Gaussian:
    """A Gaussian twice as wide as the weighted points: a mode may be beyond the start."""
    sample = view.archive.tempered(view.tempering)
    centered = sample.points - sample.weights @ sample.points
    cov = _WIDER**2 * (centered * sample.weights[:, None]).T @ centered
    return Gaussian(sample.weights @ sample.points, cov=_symmetric(cov) + 1e-300 * np.eye(len(cov)))


# -- where to ----------------------------------------------------------------------------------------------------------


def _settle(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Climbs that are at their tops are summits; those that came upon what is known are over."""
    for ascent in memory.ascents:
        if ascent.climb.has_moved:
            memory = _settle_one(view, memory, ascent)
    return memory


def _settle_one(view: View, memory: ClimbsMemory, ascent: Ascent) -> ClimbsMemory:
    climb, is_first, is_known = ascent.climb, memory.num_rounds == 0, False
    if not is_first:
        known, min_excess = _known(memory, view), view.tuning.min_excess
        point, value = (memory.center + memory.scale * climb.point)[None], np.array([climb.value])
        checked = ascent.check(bool(known.agrees(point, value, min_excess)[0]))
        is_known = bool(known.explains(point, value, min_excess)[0]) or checked.num_explained >= _STEPS_EXPLAINED
    if not (is_known or climb.is_done):
        checked = ascent if is_first else checked
        return replace(memory, ascents=tuple(checked if each is ascent else each for each in memory.ascents))
    is_find = False
    others = tuple(each for each in memory.ascents if each is not ascent)
    memory = replace(memory, ascents=others, costs=(*memory.costs, climb.num_evals))
    if not is_known and np.isfinite(climb.value):
        summit = Summit(climb.point, climb.value, _make_regular(climb.covariance))
        num_before = len(memory.summits)
        memory = _replace_explained(memory, summit, view.tuning.min_excess)
        is_new = climb.is_measured and not is_first and len(memory.summits) == num_before
        is_find = is_new and _has_mass(view, memory, summit)
        memory = replace(memory, summits=(*memory.summits, summit))
    memory = memory if is_first else replace(memory, finds=(*memory.finds, is_find))
    return replace(memory, has_find=True, is_stale=False, needs_scan=False) if is_find else memory


def _replace_explained(memory: ClimbsMemory, summit: Summit, min_excess: float) -> ClimbsMemory:
    """Without summits that another explains: climbs that ended on the way to it."""
    points = np.array([each.point for each in memory.summits]).reshape(-1, len(summit.point))
    log_prob = np.array([each.log_prob for each in memory.summits])
    is_kept = ~is_small(log_prob - summit.log_density(points), summit.log_prob - log_prob, min_excess)
    kept = tuple(each for each, keep in zip(memory.summits, is_kept, strict=True) if keep)
    return replace(memory, summits=kept, num_drawn=int(is_kept[: memory.num_drawn].sum()))


def _has_mass(view: View, memory: ClimbsMemory, summit: Summit) -> bool:
    """Whether a summit has mass in comparison with all that is known."""
    known = max((each.log_mass for each in memory.summits), default=-np.inf)
    if view.tempering == 1:
        known = view.archive.log_evidence - float(np.log(memory.scale).sum())
    return summit.log_mass > known - _MAX_MODE_DEFICIT


def _mixture(memory: ClimbsMemory) -> GaussianMixture:
    """Gaussians of several widths at all summits, by the square roots of their masses: these may be far off."""
    log_masses = np.array([summit.log_mass for summit in memory.summits])
    shares = np.maximum(normalize(0.5 * log_masses), _MIN_MASS_SHARE) * (log_masses > log_masses.max() - _MAX_DEFICIT)
    outer = np.outer(memory.scale, memory.scale)
    components = [
        Gaussian(memory.center + memory.scale * summit.point, cov=width * outer * _symmetric(summit.covariance))
        for summit, share in zip(memory.summits, shares, strict=True)
        for width in _WIDTHS
        if share > 0
    ]
    shares = np.outer(shares[shares > 0], _WIDTH_SHARES).ravel()
    return GaussianMixture(components, shares / shares.sum())


def _make_regular(covariance: Array) -> Array:
    """The covariance, no direction so narrow that it cannot be inverted: at a wall, some are."""
    if np.linalg.cond(covariance) < _MAX_CONDITION:
        return covariance
    variances, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    lowest = max(float(variances.max()) / _MAX_CONDITION, _MIN_VARIANCE)
    return np.asarray((vectors * np.maximum(variances, lowest)) @ vectors.T)


def _symmetric(covariance: Array) -> Array:
    return np.asarray(0.5 * (covariance + covariance.T) + 1e-12 * np.diag(np.diag(covariance)))
