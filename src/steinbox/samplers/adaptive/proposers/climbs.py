r"""Climbs: where the modes are and how wide, from however far away.

.. code-block:: text

   starts ─► climbs, side by side ─► summits ─ Gaussians of several widths ─► draws, weighted like all others
   the best point, random places     one per basin

An adaptive proposal finds its way by weights, which say nothing where all draws are far from the target. A climb
(:mod:`steinbox.numerics.climb`) finds it by values: some tens of evaluations per dimension lead to a mode that is
thousands of times narrower than the start. What it evaluates are no draws: it shows where to draw from, and is not
weighted. A mode that misleads, such as the neck of a funnel, offers draws of no weight and costs evaluations, no more.

Climbs from random places are also the search for further modes, and how many of them led where nothing was known is a
statement about what was not seen (:class:`~steinbox.samplers.base.Coverage`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.numerics.climb import LENGTHS, Climb, start_climb
from steinbox.numerics.weights import normalize
from steinbox.samplers.adaptive.proposer import Block, Draws, Offer, Probe, Proposer, View
from steinbox.samplers.adaptive.weighted_archive import Source
from steinbox.samplers.base import Coverage

_WIDTHS = (1.0, 2.0, 4.0)  # of a summit's covariance: tails may be heavier than a Gaussian's
_WIDTH_SHARES = (0.5, 0.3, 0.2)  # a Gaussian target leaves weights an effective sample size of half the draws or more
_MIN_MASS_SHARE = 0.02  # of a summit in the mixture of all
_MAX_DEFICIT = 50.0  # nats of mass below the heaviest summit: nothing is drawn from one that is lighter
_MAX_MODE_DEFICIT = 10.0  # nats of mass below all that is known: what is lighter is no mode
_MIN_EARNED = 0.11  # of a batch: draws of the summits that earn less, the floor, are no longer offered
_BASIN_RADIUS = 3.0  # in standard deviations of a summit (√(2 d) if that is more)
_MAX_CONDITION = 1e13  # of a summit's covariance
_MIN_VARIANCE = 1e-24  # in units of the start, squared
_CAUTION = 1.5  # times what climbs have cost so far is set aside for each
_FIRST_CLIMBS = 6  # from random places, at the beginning
_MAX_MISSED = 300  # points denser than the fit that are looked at
_WIDER = 2.0  # factor by which some random places are farther out


@serializable("adaptive-summit")
@dataclass(frozen=True, eq=False)
class Summit:
    """A mode, in units of the start: where, how high, and a covariance."""

    point: Array
    log_prob: float
    covariance: Array

    @property
    def log_mass(self) -> float:
        """Of the Gaussian of this height, in units of the start (Laplace's approximation)."""
        return self.log_prob + 0.5 * float(np.linalg.slogdet(2 * np.pi * self.covariance)[1])

    def holds(self, point: Array, log_prob: float) -> bool:
        """Whether a point of a climb is on its slopes: as near, and as high, as the Gaussian says."""
        offset = point - self.point
        square = float(offset @ np.linalg.solve(self.covariance, offset))
        radius = max(_BASIN_RADIUS**2, 2 * len(point))
        return square < radius and abs(self.log_prob - 0.5 * square - log_prob) < 1 + 0.25 * square


@serializable("adaptive-ascent")
@dataclass(frozen=True, eq=False)
class Ascent:
    """A climb, and whether it began at a random place."""

    climb: Climb
    is_random: bool


@serializable("adaptive-climbs")
@dataclass(frozen=True, eq=False)
class ClimbsMemory:
    """What was found so far, and the climbs that are under way, in units of the start.

    ``finds`` says of every climb from a random place whether it led to a mode not known before, ``costs`` are the
    evaluations of all climbs. ``has_find`` if any climb found something since the summits were last drawn from, and
    ``found_at`` is the number of points when such a find was first drawn from.
    """

    center: Array
    scale: Array
    ascents: tuple[Ascent, ...] = ()
    summits: tuple[Summit, ...] = ()
    finds: tuple[bool, ...] = ()
    num_evals: int = 0
    num_rounds: int = 0
    costs: tuple[int, ...] = ()
    num_drawn: int = 0
    has_find: bool = False
    found_at: int = 0
    has_scanned: bool = False
    is_over: bool = False

    @property
    def coverage(self) -> Coverage:
        """What the climbs from random places say."""
        last = max((k for k, is_find in enumerate(self.finds) if is_find), default=-1)
        return Coverage(len(self.finds), sum(self.finds), len(self.finds) - 1 - last)


@dataclass(frozen=True)
class Climbs(Proposer):
    """From the best of the first draws, and from random places, at the beginning and when the weights are even."""

    name = "climbs"

    def propose(
        self, view: View, memory: ClimbsMemory | None, rng: np.random.Generator
    ) -> tuple[Offer, ClimbsMemory | None]:
        if view.is_noisy:
            return None, memory
        if memory is None and not (_can_arrive(view) and _is_time(view)):
            return None, memory
        memory = _settle(view, _arrive(view, rng) if memory is None else memory)
        if _is_due(view, memory):
            size = min(int(view.tuning.scan_fraction * view.max_evals), view.num_left) // 2
            if memory.num_rounds > 0 and not memory.has_scanned and size > 0:
                return self._scan(view, size, rng), replace(memory, has_scanned=True)
            memory = _begin(view, memory, rng)
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

    def _scan(self, view: View, size: int, rng: np.random.Generator) -> Block:
        """Draws of the start and from around what was found: where they are denser than the fit, climbs begin."""
        around = GaussianMixture([_around(view)])
        draws = [view.initial.sample(size, rng), around.quasi_random(size, rng)]
        return Block(np.concatenate(draws), (Source(self.name, None, size), Source(self.name, around, size)))

    def learn(self, memory: ClimbsMemory, log_prob: Array) -> ClimbsMemory:
        """Give the climbs the values they asked for."""
        counts = [len(each.climb.ask()) for each in memory.ascents]
        parts = np.split(log_prob, np.cumsum(counts)[:-1])
        ascents = [replace(a, climb=a.climb.tell(part)) for a, part in zip(memory.ascents, parts, strict=True)]
        return replace(memory, ascents=tuple(ascents), num_evals=memory.num_evals + len(log_prob))

    def is_done(self, view: View, memory: ClimbsMemory | None) -> bool:
        """Whether no climb is under way, and more would hardly find another summit."""
        return view.is_noisy or (memory is None and not _can_arrive(view)) or (memory is not None and memory.is_over)


def _can_arrive(view: View) -> bool:
    """Whether there is room to climb a quadratic."""
    return _evals_to_quadratic_top(view.archive.dimension) < view.tuning.max_climb_fraction * view.max_evals


def _is_time(view: View) -> bool:
    """Whether weights are even, or have been uneven for so long that they will not show the way."""
    return view.tempering == 1 or view.num_evals >= view.tuning.patience * view.max_evals


def _arrive(view: View, rng: np.random.Generator) -> ClimbsMemory:
    """The first climb, from the best point; others follow when it shows what a climb costs."""
    draws = view.initial.sample(1000, rng)
    memory = ClimbsMemory(draws.mean(axis=0), draws.std(axis=0))
    best = view.archive.points[int(np.argmax(view.archive.log_prob))]
    return _add(view, memory, best[None], is_random=False)


def _add(view: View, memory: ClimbsMemory, points: Array, *, is_random: bool) -> ClimbsMemory:
    starts = (points - memory.center) / memory.scale
    most = int(view.tuning.max_climb_fraction * view.max_evals / 4)
    added = [Ascent(start_climb(start, most), is_random) for start in starts]
    return replace(memory, ascents=(*memory.ascents, *added))


def _room(view: View, memory: ClimbsMemory) -> int:
    """Evaluations that climbs may still use: all of theirs to arrive, for a few others, and while there are finds."""
    tuning = view.tuning
    has_found = memory.num_rounds > 1 and any(memory.finds[-tuning.max_climbs :])
    is_all = memory.num_rounds == 0 or has_found or len(memory.finds) < tuning.min_climbs
    share = tuning.max_climb_fraction if is_all else tuning.min_climb_fraction
    return min(view.num_left, int(share * view.max_evals) - memory.num_evals)


def _settle(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Climbs that are at their tops are summits, if new; those on the slopes of a known one are over."""
    ascents: list[Ascent] = []
    summits, finds, costs, has_find = list(memory.summits), list(memory.finds), list(memory.costs), memory.has_find
    for ascent in memory.ascents:
        climb = ascent.climb
        is_known = any(each.holds(climb.point, climb.value) for each in summits)
        is_lost = ascent.is_random and climb.num_evals > _max_evals(len(climb.point))
        if not (is_known or is_lost or climb.is_done):
            ascents.append(ascent)
            continue
        costs.append(climb.num_evals)
        if is_lost:
            continue
        summit = Summit(climb.point, climb.value, _make_regular(climb.covariance))
        is_find = not is_known and bool(np.isfinite(climb.value)) and _is_find(view, memory, summit, summits)
        has_find |= is_find
        finds += [is_find] if ascent.is_random else []
        summits += [summit] if not is_known and np.isfinite(climb.value) else []
    return replace(
        memory,
        ascents=tuple(ascents),
        summits=tuple(summits),
        finds=tuple(finds),
        costs=tuple(costs),
        has_find=has_find,
    )


def _max_evals(dimension: int) -> int:
    """Of a climb from a random place: one that takes longer follows a bent valley, and tells nothing of other modes."""
    return 100 + 4 * _evals_to_quadratic_top(dimension)


def _evals_to_quadratic_top(dimension: int) -> int:
    """Evaluations of as many steps as dimensions, which BFGS takes to the top of a quadratic."""
    return dimension * (dimension + len(LENGTHS) + 1)


def _is_find(view: View, memory: ClimbsMemory, summit: Summit, others: list[Summit]) -> bool:
    """Whether a summit has mass, and is denser than the fit explains."""
    best = max((each.log_mass for each in others), default=-np.inf)
    if view.fit is None:
        return summit.log_mass > best - _MAX_MODE_DEFICIT
    log_evidence = view.archive.log_evidence - float(np.log(memory.scale).sum())
    point = memory.center + memory.scale * summit.point
    fitted = float(view.fit.fitted.density.log_prob(point[None])[0])
    excess = summit.log_prob - view.archive.log_evidence - fitted
    return summit.log_mass > log_evidence - _MAX_MODE_DEFICIT and excess > view.tuning.min_excess


def _is_due(view: View, memory: ClimbsMemory) -> bool:
    """Whether to begin a round: at the beginning, and when weights are even and all summits have been drawn from."""
    if memory.ascents or memory.is_over or memory.num_rounds == 0:
        return not (memory.ascents or memory.is_over)
    num_even = sum(milestone.tempering == 1 for milestone in view.path)
    is_late = view.num_evals > 0.4 * view.max_evals and view.tempering == 1
    return (num_even >= 3 or is_late) and memory.num_drawn == len(memory.summits)


def _fit_into(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Without the last climbs, if there is no room for all; where they are is a summit of sorts."""
    counts = np.cumsum([len(each.climb.ask()) for each in memory.ascents])
    number = int((counts <= _room(view, memory)).sum())
    ended = tuple(Ascent(each.climb.stop(), is_random=False) for each in memory.ascents[number:])
    settled = _settle(view, replace(memory, ascents=ended))
    return replace(settled, ascents=memory.ascents[:number], num_rounds=max(memory.num_rounds, 1))


def _begin(view: View, memory: ClimbsMemory, rng: np.random.Generator) -> ClimbsMemory:
    """The next round: climbs from random places, as many as there is room for, and from points denser than the fit."""
    most = _FIRST_CLIMBS if memory.num_rounds == 0 else view.tuning.max_climbs
    memory = replace(memory, num_rounds=memory.num_rounds + 1)
    number = min(most, _num_affordable(view, memory))
    if memory.num_rounds > 1 and number < 1:
        return replace(memory, is_over=True)
    dense = _missed_points(view, memory)[: max(1, number // 4) if memory.num_rounds > 1 else 0]
    memory = _add(view, memory, dense, is_random=False)
    return _add(view, memory, _random_starts(view, number, rng), is_random=True)


def _num_affordable(view: View, memory: ClimbsMemory) -> int:
    """Climbs for which there is room; the first few may use all that climbs may use, others less."""
    cost = max(_CAUTION * float(np.mean(memory.costs)), 1.0)
    usual = view.tuning.min_climb_fraction * view.max_evals - memory.num_evals
    few = min(view.tuning.min_climbs, int(_room(view, memory) / cost))
    return max(few, int(min(usual, _room(view, memory)) / cost))


def _missed_points(view: View, memory: ClimbsMemory) -> Array:
    """Points much denser than fitted that no summit explains, the densest first."""
    archive = view.archive
    if view.fit is None:
        return archive.points[:0]
    excess = archive.log_prob - archive.log_evidence - view.fit.fitted.density.log_prob(archive.points)
    rows = np.flatnonzero(excess > view.tuning.min_excess)
    rows = rows[np.argsort(-archive.log_prob[rows], kind="stable")][:_MAX_MISSED]
    points = (archive.points[rows] - memory.center) / memory.scale
    is_new = [
        not any(summit.holds(point, value) for summit in memory.summits)
        for point, value in zip(points, archive.log_prob[rows], strict=True)
    ]
    return np.asarray(archive.points[rows[np.array(is_new, dtype=bool)]])


def _random_starts(view: View, number: int, rng: np.random.Generator) -> Array:
    """In turn draws of the start, of one twice as wide, and from around what was found: between modes are others."""
    draws, center = view.initial.sample(number, rng), view.initial.sample(1000, rng).mean(axis=0)
    kinds = [draws, center + _WIDER * (draws - center), _around(view).sample(number, rng)]
    return np.asarray([kinds[k % len(kinds)][k] for k in range(number)]).reshape(number, draws.shape[1])


def _around(view: View) -> Gaussian:
    """A Gaussian twice as wide as the weighted points."""
    sample = view.archive.tempered(view.tempering)
    centered = sample.points - sample.weights @ sample.points
    cov = _WIDER**2 * (centered * sample.weights[:, None]).T @ centered
    return Gaussian(sample.weights @ sample.points, cov=_symmetric(cov) + 1e-300 * np.eye(len(cov)))


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
