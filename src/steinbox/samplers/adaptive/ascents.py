r"""Climbs under way, and where they end: at a mode that was not known, or at what is known.

A climb seems to end at its top, and where it is as high as draws of the nearest mode are. Then it looks at the straight
way to that mode: only a valley in between makes it another one (Ursem, 1999), if the fitted family does not predict its
height, as it does along a curve. Farther out nothing can be said: two modes may share their slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import serializable
from steinbox.numerics.climb import Climb
from steinbox.samplers.adaptive.known import Known, Summit
from steinbox.samplers.adaptive.proposer import View
from steinbox.samplers.adaptive.state import AdaptiveState

_MAX_MODE_DEFICIT = 10.0  # nats of mass below all that is known: what is lighter is no mode
_MAX_CONDITION = 1e13  # of a summit's covariance
_MIN_VARIANCE = 1e-24  # in units of the start, squared
_CROSSING = np.linspace(0, 1, 6)[1:-1]  # of the way from one top to another


@serializable("adaptive-ascent")
@dataclass(frozen=True, eq=False)
class Ascent:
    """A climb under way.

    Where it seems to end, ``crossing`` has points on the straight way to the nearest of ``num_modes``, and then
    ``lowest`` is the lowest value there.
    """

    climb: Climb
    crossing: Array | None = None
    num_modes: int = 0
    lowest: float = np.nan

    def ask(self) -> Array:
        """The points to evaluate next."""
        return self.climb.ask() if self.crossing is None else self.crossing

    def tell(self, log_prob: Array) -> Ascent:
        """After the values of these points."""
        if self.crossing is None:
            return replace(self, climb=self.climb.tell(log_prob), lowest=np.nan)
        return replace(self, crossing=None, lowest=float(log_prob.min()))

    def is_compared(self, num_modes: int) -> bool:
        """Whether the way from here to the nearest of so many modes was looked at."""
        return not np.isnan(self.lowest) and self.num_modes == num_modes

    def cross(self, nearest: Summit, num_modes: int) -> Ascent:
        """Look at the straight way to another top (Ursem, 1999: if it is lower than both, there is a valley)."""
        way = self.climb.point + _CROSSING[:, None] * (nearest.point - self.climb.point)
        return replace(self, crossing=way, num_modes=num_modes)


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

    @property
    def modes(self) -> tuple[Summit, ...]:
        """The summits of different modes."""
        return tuple(each for each in self.summits if each.is_mode)


def find_known(memory: ClimbsMemory, state: View | AdaptiveState) -> Known:
    """The summits so far, and the fitted family once weights are even."""
    density = None if state.fit is None or state.tempering < 1 else state.fit.fitted.density
    return Known(memory.summits, memory.center, memory.scale, state.archive, density)


def settle(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Climbs that are at their tops are summits; those that came upon what is known are over."""
    for ascent in memory.ascents:
        if ascent.climb.has_moved:
            memory = _settle_one(view, memory, ascent)
    return memory


def _settle_one(view: View, memory: ClimbsMemory, ascent: Ascent) -> ClimbsMemory:
    """It goes on, or seems to end: then it looks at the way to the nearest mode, and ends if it is not elsewhere.

    At its top it ends in either case: with a valley in between, this is another mode.
    """
    modes, point = memory.modes, ascent.climb.point
    is_high = memory.num_rounds > 0 and bool(modes) and ascent.climb.value > _nearest(modes, point).typical_log_prob
    if not (is_high or ascent.climb.is_done):
        return memory
    if modes and not ascent.is_compared(len(modes)):
        compared = ascent.cross(_nearest(modes, point), len(modes))
        return replace(memory, ascents=tuple(compared if each is ascent else each for each in memory.ascents))
    if ascent.climb.is_done:
        return _end_at_top(view, memory, ascent)
    return memory if _is_elsewhere(view, memory, ascent) else _end(memory, ascent, is_find=False)


def _end(memory: ClimbsMemory, ascent: Ascent, *, is_find: bool) -> ClimbsMemory:
    """Without it; all but the first climb say whether they found something."""
    others = tuple(each for each in memory.ascents if each is not ascent)
    memory = replace(memory, ascents=others, costs=(*memory.costs, ascent.climb.num_evals))
    memory = memory if memory.num_rounds == 0 else replace(memory, finds=(*memory.finds, is_find))
    return replace(memory, has_find=True, is_stale=False, needs_scan=False) if is_find else memory


def _end_at_top(view: View, memory: ClimbsMemory, ascent: Ascent) -> ClimbsMemory:
    """With a summit more: a find, if a valley is in between and it has mass."""
    if not np.isfinite(ascent.climb.value):
        return _end(memory, ascent, is_find=False)
    summit = make_summit(ascent.climb)
    is_find = ascent.climb.is_measured and _is_elsewhere(view, memory, ascent) and _has_mass(view, memory, summit)
    summit = replace(summit, is_mode=is_find or not memory.modes)
    return _end(replace(memory, summits=(*memory.summits, summit)), ascent, is_find=is_find)


def make_summit(climb: Climb) -> Summit:
    """The top of a climb, with the Gaussian there."""
    return Summit(climb.point, climb.value, _make_regular(climb.covariance))


def _is_elsewhere(view: View, memory: ClimbsMemory, ascent: Ascent) -> bool:
    """Whether the way to the nearest mode leads through points that are lower than both ends, and the fit is not here.

    Between two places on a curve there is a valley, too.
    """
    if not memory.modes:
        return False
    climb, min_excess = ascent.climb, view.tuning.min_excess
    if ascent.lowest >= min(_nearest(memory.modes, climb.point).log_prob, climb.value) - min_excess:
        return False
    point, value = (memory.center + memory.scale * climb.point)[None], np.array([climb.value])
    return not find_known(memory, view).explains(point, value, min_excess)[0]


def _nearest(modes: Sequence[Summit], point: Array) -> Summit:
    """The one that is the fewest standard deviations away."""
    return max(modes, key=lambda each: each.log_density(point[None])[0] - each.log_prob)


def _has_mass(view: View, memory: ClimbsMemory, summit: Summit) -> bool:
    """Whether a summit has mass in comparison with all that is known."""
    known = max((each.log_mass for each in memory.summits), default=-np.inf)
    if view.tempering == 1:
        known = view.archive.log_evidence - float(np.log(memory.scale).sum())
    return summit.log_mass > known - _MAX_MODE_DEFICIT


def _make_regular(covariance: Array) -> Array:
    """The covariance, no direction so narrow that it cannot be inverted: at a wall, some are."""
    if np.linalg.cond(covariance) < _MAX_CONDITION:
        return covariance
    variances, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    lowest = max(float(variances.max()) / _MAX_CONDITION, _MIN_VARIANCE)
    return np.asarray((vectors * np.maximum(variances, lowest)) @ vectors.T)
