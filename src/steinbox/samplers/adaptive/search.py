r"""The search for missed mass: where the target is much denser than anything that was fitted.

It scans the initial distribution, a wider one, and the middle of what was fitted. What it comes upon are surprises;
they are followed one cluster after the other, each by Gaussians fitted to its own tempered weights, until these are
even: then its mass is known, and if there is any, the mixture gets another component.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.densities.density import MixtureDensity
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.em import fit_mixture
from steinbox.densities.fitting.weighted_points import WeightedPoints
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.initial import Initial
from steinbox.numerics.pairwise import squared_distances
from steinbox.numerics.weights import effective_sample_size, normalize, temper
from steinbox.samplers.adaptive.state import AdaptiveState, Batch, Search, Trail
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive, floored

_MOST = 0.2  # of the budget
_FIRST = 2000  # evaluations that the first scan and its trails may cost, but at least half as much as all may
_SMALLEST = 20  # evaluations that make a batch
_SURPRISE = 5.0  # nats: how much denser than fitted counts as missed
_FEWEST = 5  # points to fit a Gaussian to
_EVEN = 0.7  # weights that need not be tempered to a smaller power tell what mass there is
_NEGLIGIBLE = 0.01  # a share of all weight
_APART = 2.0  # times as far from a denser surprise as points usually are from each other: another cluster
_MOST_CLUSTERED = 300  # surprises, the densest
_NEW = 0.45  # of a batch should be surprises, or the trail leads back to where the mixture is
_GREAT = 6.5  # nats: surprises must be greater than this, on average
_LONGEST = 25  # batches: a trail must climb so fast that it would arrive by then
_MOST_IN_VAIN = 3  # trails in a row that led nowhere
_MOST_SCANS = 2
_NARROW = (1 / 4, 1 / 16, 1 / 64)  # of the width of a component
_NUM_NARROW = 60
_SMALLEST_DISTANCE = 1e-9  # between points, in widths of the initial distribution
_LAST_SCAN = 0.75  # of the room; the rest is for trails


def room_to_search(state: AdaptiveState) -> int:
    """How many evaluations a search may still cost."""
    most = _MOST * state.max_evals
    return int(most if state.search.num_scans > 1 else np.clip(_FIRST, most / 2, most)) - state.search.num_evals


def is_searched_out(state: AdaptiveState) -> bool:
    """Whether all scans are done, and all that they came upon was followed."""
    return state.search.num_scans >= _MOST_SCANS and not state.search.is_on


def scanning(state: AdaptiveState, size: int, left: int, initial: Initial, rng: np.random.Generator) -> AdaptiveState:
    """The state with a batch of the initial distribution, of a wider one, and of the mixture narrowed.

    The last scan is of the initial distribution alone, and takes most of the room there is.
    """
    search = replace(state.search, num_scans=state.search.num_scans + 1, is_on=True, num_in_vain=0)
    is_last, room = search.num_scans == _MOST_SCANS, min(left, room_to_search(replace(state, search=search)))
    if room < 2 * _SMALLEST:
        return replace(state, search=replace(search, is_on=False))
    if is_last or state.fitted is None:
        size = int(_LAST_SCAN * room)
        batch = Batch("search", initial.sample(size, rng), (None,), (size,))
    else:
        size = min(size, room // 2)
        num_narrow = min(_NUM_NARROW, size // 5)
        num_wide, around, within = size - num_narrow, wide(initial, rng), narrowed(state.fitted.density)
        draws = [initial.sample(size, rng), around.quasi_random(num_wide, rng), within.quasi_random(num_narrow, rng)]
        batch = Batch("search", np.concatenate(draws), (None, around, within), (size, num_wide, num_narrow))
    return replace(state, search=_paid(search, len(batch.points)), next=batch)


def wide(initial: Initial, rng: np.random.Generator) -> GaussianMixture:
    """A Gaussian twice as wide as the initial distribution."""
    draws = initial.sample(1000, rng)
    return GaussianMixture([Gaussian(draws.mean(axis=0), cov=4 * np.atleast_2d(np.cov(draws.T)))])


def narrowed(density: MixtureDensity) -> MixtureDensity:
    """Each component much narrower than it is, in several widths: within a mode there may be a spike."""
    return density.scale_components(_NARROW)


def following(state: AdaptiveState, left: int, initial: Initial, rng: np.random.Generator) -> AdaptiveState:
    """The state with draws along a trail; without, and with the search switched off, if there is none to follow."""
    if state.search.trail is not None:
        state = _judged(state, state.search.trail, left, rng)
    room = min(left, room_to_search(state))
    if state.search.trail is None and state.search.num_in_vain < _MOST_IN_VAIN and room >= _SMALLEST:
        state = _begun(state, initial, rng)
    trail = state.search.trail
    if trail is None or room < _SMALLEST:
        return replace(state, search=replace(state.search, is_on=False, trail=None))
    size = min(max(50, 5 * state.ledger.points.shape[1]), room)
    batch = Batch("search, trail", trail.density.quasi_random(size, rng), (trail.density,), (size,))
    return replace(state, search=_paid(state.search, size), next=batch)


def _paid(search: Search, size: int) -> Search:
    return replace(search, num_evals=search.num_evals + size)


# -- surprises ---------------------------------------------------------------------------------------------------------


def surprise(state: AdaptiveState) -> Array:
    r"""How much denser than fitted every point is, :math:`\log p - \log(\hat Z q)`; more than 5 is a surprise."""
    if state.fitted is None:
        raise ValueError("there is no mixture yet")
    ledger = state.ledger
    return np.asarray(ledger.log_prob - ledger.log_evidence - state.fitted.density.log_prob(ledger.points))


def share(ledger: WeightedArchive, rows: IntegerArray) -> float:
    """How much of all weight some points hold."""
    return float(normalize(ledger.log_weights)[rows].sum())


# -- trails ------------------------------------------------------------------------------------------------------------


def _begun(state: AdaptiveState, initial: Initial, rng: np.random.Generator) -> AdaptiveState:
    """The state with a trail from the densest surprise that none has led through, if there is one."""
    ledger = state.ledger
    is_open = surprise(state) > _SURPRISE
    is_open[state.search.settled] = False
    rows = np.flatnonzero(is_open)
    if not len(rows):
        return state
    rows = rows[np.argsort(-ledger.log_prob[rows], kind="stable")][:_MOST_CLUSTERED]
    scale = initial.sample(1000, rng).std(axis=0)
    nearest = _distance_to_others(ledger.points / scale, rows)
    rows = rows[_first_cluster(ledger.points[rows] / scale, _APART * float(np.median(nearest)))]
    lead = _lead(ledger, rows, rng)
    if lead is None:
        rows = rows[:1]
        std = 0.5 * max(nearest[0], _SMALLEST_DISTANCE) / np.sqrt(len(scale)) * scale
        lead = _Lead(GaussianMixture([Gaussian(ledger.points[rows[0]], std=std)]), 0.0, np.ones(1))
    trail = Trail(rows, len(ledger), (lead.mean(ledger.log_prob[rows]),), lead.density, lead.is_sure)
    return replace(state, search=replace(state.search, trail=trail))


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


def _judged(state: AdaptiveState, trail: Trail, left: int, rng: np.random.Generator) -> AdaptiveState:
    """The state with the trail's next Gaussian, or without the trail if it has come to its end."""
    ledger, surprises = state.ledger, surprise(state)
    rows = np.concatenate([trail.rows, np.arange(trail.start, len(ledger))])
    rows = rows[surprises[rows] > _SURPRISE]
    lead = _lead(ledger, rows, rng)
    if lead is None:
        return _ended(state, trail, state.search.num_in_vain + 1)
    heights, mass = (*trail.heights, lead.mean(ledger.log_prob[rows])), share(ledger, rows)
    leads_back = len(trail.heights) > 1 and _leads_back(state, surprises, lead.mean(surprises[rows]))
    if mass < _NEGLIGIBLE and (lead.is_sure or leads_back or not _climbs(ledger, heights)):
        return _ended(state, trail, state.search.num_in_vain + 1)
    is_last = mass >= _NEGLIGIBLE and min(left, room_to_search(state)) < _SMALLEST
    if (lead.is_sure and trail.is_sure) or is_last:
        return _ended(_with_component(state, rows, lead.power, rng), trail, 0)
    trail = replace(trail, heights=heights, density=lead.density, is_sure=lead.is_sure)
    return replace(state, search=replace(state.search, trail=trail))


def _leads_back(state: AdaptiveState, surprises: Array, mean_surprise: float) -> bool:
    """Whether the trail goes to where the mixture is: few of its last points are surprises, or all are small ones."""
    is_new = surprises[-max(state.ledger.counts[-1], 1) :] > _SURPRISE
    return bool(is_new.mean() < _NEW or mean_surprise < _GREAT)


def _climbs(ledger: WeightedArchive, heights: tuple[float, ...]) -> bool:
    """Whether the trail would come to where the weight is in time, if it went on as in its second half."""
    num_batches = len(heights) - 1
    if num_batches == 1:
        return True
    weights = normalize(ledger.log_weights)
    inside = weights > 0
    missing = float(weights[inside] @ ledger.log_prob[inside]) - heights[-1]
    half = num_batches // 2
    return missing < (heights[-1] - heights[half]) / (num_batches - half) * (_LONGEST - num_batches)


def _ended(state: AdaptiveState, trail: Trail, num_in_vain: int) -> AdaptiveState:
    through = np.concatenate([state.search.settled, trail.rows, np.arange(trail.start, len(state.ledger))])
    return replace(state, search=replace(state.search, trail=None, num_in_vain=num_in_vain, settled=through))


def _with_component(state: AdaptiveState, rows: IntegerArray, power: float, rng: np.random.Generator) -> AdaptiveState:
    """The state whose mixture has a component for what was found; its shape is to be chosen anew."""
    if state.fitted is None:
        raise ValueError("there is no mixture yet")
    weights = normalize(power * state.ledger.log_weights[rows])
    sample = WeightedPoints(state.ledger.points[rows], weights, effective_sample_size(weights))
    fitted = CurvedMixtures().add_component(state.fitted, sample, share(state.ledger, rows), rng)
    search = replace(state.search, found_at=len(state.ledger))
    return replace(state, search=search, fitted=fitted, chosen_at=0.0)


@dataclass(frozen=True, eq=False)
class _Lead:
    """A Gaussian fitted to surprises, and the weights they had, tempered to a power, in the fit."""

    density: GaussianMixture
    power: float
    weights: Array

    @property
    def is_sure(self) -> bool:
        """Whether the weights were nearly even, so that they tell what mass there is."""
        return self.power > _EVEN

    def mean(self, values: Array) -> float:
        """Of something at the surprises."""
        return float(self.weights @ values)


def _lead(ledger: WeightedArchive, rows: IntegerArray, rng: np.random.Generator) -> _Lead | None:
    """What to draw from next; None if there are too few points to go on."""
    if len(rows) < _FEWEST:
        return None
    log_weights = floored(ledger.log_weights[rows])
    wanted = max(_FEWEST, min(3 * ledger.points.shape[1], 0.5 * len(rows)))
    power = temper(log_weights, wanted)
    weights = normalize(power * log_weights)
    sample = WeightedPoints(ledger.points[rows], weights, effective_sample_size(weights))
    return _Lead(fit_mixture(sample, 1, rng), power, weights)
