r"""Climbs: where the modes are and how wide, from however far away.

.. code-block:: text

   scattered draws ─► maxima of their topograph ─► climbs, side by side ─► summits ─ Gaussians ─► draws, weighted
            ▲                (places.py)             (ascents.py)           of several widths      like others
            └──── scans: more of them, around all modes, at all scales ◄──────┘

An adaptive proposal finds its way by weights, which say nothing where all draws are far from the target. A climb
(:mod:`steinbox.numerics.climb`) finds it by values: some tens of evaluations per dimension lead to a mode that is
thousands of times narrower than the start. What it evaluates are no draws: it shows where to draw from, and is not
weighted. A mode that misleads, such as the neck of a funnel, offers draws of no weight and costs evaluations, no more.

The first climb arrives. Others search for further modes. They begin at scattered draws: of the start, and of balls
around the modes that are known, of all sizes (a scan). Half begin at draws that are higher than all their nearest
neighbors (:mod:`steinbox.numerics.topography`), the least explained first: there is about one in every basin that the
draws have resolved, however far below its top. The others begin at any draws that are not as dense as all that is known
says (:mod:`steinbox.samplers.adaptive.known`). A climb that comes upon a known mode ends there, and a mode is another
one if a valley lies in between (:mod:`steinbox.samplers.adaptive.ascents`). Once draws are worth one for every
particle, a climb is worth more than more of them, until all scattered draws are explained, or 18 climbs in a row have
found nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.climb import start_climb
from steinbox.numerics.weights import normalize
from steinbox.samplers.adaptive.ascents import (
    MIN_SCANS,
    Ascent,
    ClimbsMemory,
    evals_to_quadratic_top,
    find_known,
    make_summit,
    settle,
    usual_cost,
)
from steinbox.samplers.adaptive.places import (
    SCAN,
    SCATTERED,
    choose_maxima,
    choose_open,
    scattered_rows,
    spread_around,
)
from steinbox.samplers.adaptive.proposer import Block, Draws, Offer, Probe, Proposer, View
from steinbox.samplers.adaptive.state import AdaptiveState
from steinbox.samplers.adaptive.weighted_archive import Source
from steinbox.samplers.base import Coverage

_WIDTHS = (1.0, 2.0, 4.0)  # of a summit's covariance: tails may be heavier than a Gaussian's
_WIDTH_SHARES = (0.5, 0.3, 0.2)  # a Gaussian target leaves weights an effective sample size of half the draws or more
_MIN_MASS_SHARE = 0.02  # of a summit in the mixture of all
_MAX_DEFICIT = 50.0  # nats of mass below the heaviest summit: nothing is drawn from one that is lighter
_MIN_CLIMBS_PER_ROUND = 3  # then the summits that were found are known to the next
_ROUND_SHARE = 0.25  # of a batch: evaluations of a round of climbs, if these are cheap
_MIN_EVEN_BATCHES = 2  # with even weights, before points are compared with the fit


def find_coverage(state: AdaptiveState, min_excess: float) -> Coverage | None:
    """What climbs, and scattered draws, say of modes that were not seen; None if there was no climb."""
    memory = state.memories.get(Climbs.name)
    return None if memory is None else _cover(memory, state, min_excess)


def _cover(memory: ClimbsMemory, state: View | AdaptiveState, min_excess: float) -> Coverage:
    last = max((k for k, is_find in enumerate(memory.finds) if is_find), default=-1)
    counts = len(memory.finds), sum(memory.finds), len(memory.finds) - 1 - last
    known = find_known(memory, state)
    if known.density is None:
        return Coverage(*counts)
    rows = scattered_rows(state.archive)
    is_open = known.is_open(state.archive.points[rows], state.archive.log_prob[rows], min_excess)
    return Coverage(*counts, int(state.archive.is_from(SCATTERED).sum()), int(is_open.sum()))


@dataclass(frozen=True)
class Climbs(Proposer):
    """From the best point, to arrive; then from maxima among scattered draws, and from others that are not explained.

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
        memory = settle(view, _arrive(view, rng) if memory is None else memory)
        if _is_due(view, memory):
            may_find = _may_find(view, memory)
            if (memory.needs_scan or not may_find) and _can_scan(view, memory):
                return self._scan(view, memory, _scan_size(view), rng)
            memory = _begin(view, memory, rng) if may_find else replace(memory, is_over=True)
        memory = _fit_into(view, memory) if memory.ascents else memory
        if memory.ascents:
            points = np.concatenate([each.ask() for each in memory.ascents])
            return Probe(memory.center + memory.scale * points), memory
        is_new = memory.num_drawn < len(memory.summits)
        has_earned = view.shares.get(self.name, 1.0) > view.tuning.min_share
        if memory.summits and (is_new or (view.tempering < 1 and has_earned)):
            found_at = len(view.archive) if memory.has_find else memory.found_at
            memory = replace(memory, num_drawn=len(memory.summits), has_find=False, found_at=found_at)
            return Draws(_mixture(memory)), memory
        return None, memory

    def _scan(
        self, view: View, memory: ClimbsMemory, size: int, rng: np.random.Generator
    ) -> tuple[Offer, ClimbsMemory]:
        """Draws to look for places to climb from: around the modes that are known, the first half of the start."""
        num_around = 0 if not memory.modes else size // 2 if memory.num_rounds == 0 else size
        draws, sources = [view.initial.sample(size - num_around, rng)], [Source(SCAN, None, size - num_around)]
        if num_around > 0:
            around = spread_around(memory.modes, memory.center, memory.scale)
            draws.append(around.quasi_random(num_around, rng))
            sources.append(Source(SCAN, around, num_around))
        memory = replace(memory, num_evals=memory.num_evals + size, needs_scan=False)
        memory = replace(memory, num_scans=memory.num_scans + 1, scanned_at=len(memory.finds))
        return Block(np.concatenate(draws), tuple(sources)), memory

    def learn(self, memory: ClimbsMemory, log_prob: Array) -> ClimbsMemory:
        """Give the climbs the values they asked for."""
        parts = np.split(log_prob, np.cumsum([len(each.ask()) for each in memory.ascents])[:-1])
        ascents = tuple(each.tell(part) for each, part in zip(memory.ascents, parts, strict=True))
        return replace(memory, ascents=ascents, num_evals=memory.num_evals + len(log_prob))

    def num_wanted(self, view: View, memory: ClimbsMemory) -> int:
        """All that is left, as in batches, while climbs are worth more than draws: on arrival, after a first look."""
        is_arriving = view.tempering < 1 and len(memory.ascents) > 0
        is_first = is_arriving or (memory.num_rounds > 0 and _is_search_first(view, memory))
        return view.num_left if is_first else 0

    def is_done(self, view: View, memory: ClimbsMemory | None) -> bool:
        """Whether no climb is under way, and there is no need, no room or no place for another."""
        if memory is None:
            return view.is_noisy or not _can_arrive(view)
        return not memory.ascents and (memory.is_over or not _is_wanted(view, memory) or not _has_room(view, memory))


# -- when --------------------------------------------------------------------------------------------------------------


def _can_arrive(view: View) -> bool:
    """Whether there is room to climb a quadratic."""
    return evals_to_quadratic_top(view.archive.dimension) < view.tuning.arrival_fraction * view.max_evals


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
    if memory.ascents or memory.is_over or not _has_room(view, memory):
        return False
    if memory.has_find and not memory.is_stale:
        return True
    if view.tempering < 1:
        return memory.num_rounds == 0 and len(memory.summits) > 0
    if not _is_wanted(view, memory):
        return False
    num_even = sum(milestone.tempering == 1 for milestone in view.path)
    return num_even >= _MIN_EVEN_BATCHES and memory.num_drawn == len(memory.summits)


def _room(view: View, memory: ClimbsMemory) -> int:
    """Evaluations that climbs may still use."""
    tuning = view.tuning
    share = tuning.max_climb_fraction if _is_search_first(view, memory) else tuning.arrival_fraction
    return min(view.num_left, int(share * view.max_evals) - memory.num_evals)


def _is_search_first(view: View, memory: ClimbsMemory) -> bool:
    """Whether a climb is worth more than draws: there are several modes, or a draw for every particle."""
    if any(memory.finds):
        return True
    has_draws = view.tempering == 1 and view.draws_per_particle > 1
    return has_draws and _is_wanted(view, memory)


def _is_wanted(view: View, memory: ClimbsMemory) -> bool:
    """Whether climbs from open places may well find something, or too few places were looked at."""
    return memory.num_scans < MIN_SCANS or _may_find(view, memory)


def _may_find(view: View, memory: ClimbsMemory) -> bool:
    """Whether there are open places, and few climbs since the last scan, or find, that found nothing."""
    coverage = _cover(memory, view, view.tuning.min_excess)
    if memory.num_rounds < 1 or coverage.num_places == 0:
        return True
    num_failed = min(coverage.num_since_last, len(memory.finds) - memory.scanned_at)
    return coverage.num_open > 0 and 1 / (num_failed + 2) > view.tuning.max_unseen


def _has_room(view: View, memory: ClimbsMemory) -> bool:
    """For one more climb."""
    return _room(view, memory) >= usual_cost(view, memory)


def _scan_size(view: View) -> int:
    return int(view.tuning.scan_fraction * view.max_evals)


def _can_scan(view: View, memory: ClimbsMemory) -> bool:
    """Whether a scan leaves room for a climb."""
    return 0 < _scan_size(view) <= _room(view, memory) - usual_cost(view, memory)


def _fit_into(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Without the last climbs, if there is no room for all; where they are is a summit of sorts."""
    counts = np.cumsum([len(each.ask()) for each in memory.ascents])
    number = int((counts <= _room(view, memory)).sum())
    dropped = tuple(make_summit(each.climb) for each in memory.ascents[number:] if np.isfinite(each.climb.value))
    return replace(memory, ascents=memory.ascents[:number], summits=(*memory.summits, *dropped))


# -- where from --------------------------------------------------------------------------------------------------------


def _arrive(view: View, rng: np.random.Generator) -> ClimbsMemory:
    """The first climb, from the best point: if weights have shown the way, there may be a spike on top."""
    draws = view.initial.sample(1000, rng)
    memory = ClimbsMemory(draws.mean(axis=0), draws.std(axis=0), draws[:0], needs_scan=True)
    best = view.archive.points[int(np.argmax(view.archive.log_prob))]
    return _add(view, memory, best[None])


def _begin(view: View, memory: ClimbsMemory, rng: np.random.Generator) -> ClimbsMemory:
    """The next round, as many climbs as there is room for; it is stale until it finds something."""
    usual = usual_cost(view, memory)
    number = min(max(_MIN_CLIMBS_PER_ROUND, int(_ROUND_SHARE * view.batch_size / usual)), _room(view, memory) // usual)
    maxima = choose_maxima(view, memory, (number + 1) // 2)
    starts = np.unique(np.concatenate([maxima, choose_open(view, memory, number - len(maxima), rng)]), axis=0)
    is_over = len(starts) == 0 and view.tempering == 1 and not _can_scan(view, memory)
    needs_scan = view.tempering == 1 and len(maxima) == 0
    memory = replace(memory, num_rounds=memory.num_rounds + 1, is_stale=True, needs_scan=needs_scan, is_over=is_over)
    return _add(view, memory, starts)


def _add(view: View, memory: ClimbsMemory, points: Array) -> ClimbsMemory:
    most = int(view.tuning.arrival_fraction * view.max_evals / 4)
    starts = (points - memory.center) / memory.scale
    ascents = (*memory.ascents, *(Ascent(start_climb(start, most)) for start in starts))
    return replace(memory, ascents=ascents, starts=np.concatenate([memory.starts, starts]))


def _mixture(memory: ClimbsMemory) -> GaussianMixture:
    """Gaussians of several widths at all summits, by the square roots of their masses: these may be far off."""
    log_masses = np.array([summit.log_mass for summit in memory.summits])
    shares = np.maximum(normalize(0.5 * log_masses), _MIN_MASS_SHARE) * (log_masses > log_masses.max() - _MAX_DEFICIT)
    outer = np.outer(memory.scale, memory.scale)
    components = [
        Gaussian(memory.center + memory.scale * summit.point, cov=width * outer * summit.covariance)
        for summit, share in zip(memory.summits, shares, strict=True)
        for width in _WIDTHS
        if share > 0
    ]
    shares = np.outer(shares[shares > 0], _WIDTH_SHARES).ravel()
    return GaussianMixture(components, shares / shares.sum())
