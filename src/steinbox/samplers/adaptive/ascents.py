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
from steinbox.numerics.climb import LENGTHS, Climb, regular_root
from steinbox.samplers.adaptive.known import Known, Summit
from steinbox.samplers.adaptive.proposer import View
from steinbox.samplers.adaptive.state import AdaptiveState

MIN_SCANS = 2  # in which climbs found nothing, before the search ends
_MAX_COST = 4  # times as many evaluations as usual: a climb that has not arrived by then ends where it is
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
    so far. It ``needs_scan`` before the first round, and when no maximum is left; ``num_scans`` are those made, of
    which a find leaves one to be made again, and ``scanned_at`` is the number of ``finds`` at the last. ``has_find`` if
    there are finds that were not drawn from yet, and ``found_at`` is the number of points when they last were.
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
    num_scans: int = 0
    scanned_at: int = 0
    is_over: bool = False

    @property
    def modes(self) -> tuple[Summit, ...]:
        """The summits of different modes."""
        return tuple(each for each in self.summits if each.is_mode)


def find_known(memory: ClimbsMemory, state: View | AdaptiveState) -> Known:
    """The summits so far, and the fitted family once weights are even."""
    density = None if state.fit is None or state.tempering < 1 else state.fit.density
    return Known(memory.summits, memory.center, memory.scale, state.archive, density)


def settle(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Climbs that are at their tops are summits; those that came upon what is known are over."""
    memory = _stop_long_climbs(view, memory) if memory.num_rounds > 0 else memory
    for ascent in memory.ascents:
        if ascent.climb.has_moved:
            memory = _settle_one(view, memory, ascent)
    return memory


def _stop_long_climbs(view: View, memory: ClimbsMemory) -> ClimbsMemory:
    """Climbs that take far longer than others end where they are, as on a ridge that bends."""
    longest = _MAX_COST * max(usual_cost(view, memory), evals_to_quadratic_top(view.archive.dimension))
    ascents = tuple(
        replace(each, climb=each.climb.stop(), crossing=None) if each.climb.num_evals > longest else each
        for each in memory.ascents
    )
    return replace(memory, ascents=ascents)


def usual_cost(view: View, memory: ClimbsMemory) -> int:
    """Evaluations of a climb: the mean of those that have ended."""
    usual = float(np.mean(memory.costs)) if memory.costs else evals_to_quadratic_top(view.archive.dimension)
    return max(int(usual), 1)


def evals_to_quadratic_top(dimension: int) -> int:
    """Evaluations of as many steps as dimensions, which BFGS takes to the top of a quadratic."""
    return dimension * (dimension + len(LENGTHS))


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
    if not is_find:
        return memory
    num_scans = min(memory.num_scans, MIN_SCANS - 1)  # one around the find
    return replace(memory, has_find=True, is_stale=False, needs_scan=False, num_scans=num_scans)


def _end_at_top(view: View, memory: ClimbsMemory, ascent: Ascent) -> ClimbsMemory:
    """With a summit more: a find, if a valley is in between and it has mass."""
    if not np.isfinite(ascent.climb.value):
        return _end(memory, ascent, is_find=False)
    summit = make_summit(ascent.climb)
    is_find = ascent.climb.is_measured and _is_elsewhere(view, memory, ascent) and _has_mass(view, memory, summit)
    summit = replace(summit, is_mode=is_find or not memory.modes)
    return _end(replace(memory, summits=(*memory.summits, summit)), ascent, is_find=is_find)


def make_summit(climb: Climb) -> Summit:
    """The top of a climb, with the Gaussian there; at a wall it may be flat in some directions."""
    root = regular_root(climb.covariance)
    return Summit(climb.point, climb.value, root @ root.T)


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
    return summit.log_mass > known - 2 * view.tuning.min_excess
