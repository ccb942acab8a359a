r"""The polish: particles chosen anew, from any number of points that a regression of log p weighs.

With few evaluations the archive is a poor pool to choose from, but its log-densities may tell log p everywhere near.
Then points that were never evaluated are as good as those that were. They are drawn of the fitted mixture, weighed by
what the regression foretells, a :class:`SurrogateDensity`, and teach a mixture that is drawn
from in turn; the particles are chosen of all of them, and only these are evaluated.

If :math:`p / \rho` is even there, they are the answer. If not, they are points of the archive like others, drawn of
:math:`\rho`, and weighed with the others: a proposal that is far better than a mixture where these are poor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steinbox.common.arrays import IntegerArray
from steinbox.densities.fitting.curved_mixtures import CurvedMixtures
from steinbox.densities.fitting.family import Fitted
from steinbox.densities.initial import Initial
from steinbox.evaluation import Evaluation
from steinbox.numerics.herding import select
from steinbox.numerics.weights import effective_sample_size, normalize, temper
from steinbox.samplers.adaptive.state import AdaptiveState, Batch, Polish
from steinbox.samplers.adaptive.surrogate_density import Regression, SurrogateDensity, fit_regression
from steinbox.samplers.adaptive.weighted_archive import WeightedArchive, weighted_sample

_POOR = 10.0  # independent draws per particle: with more the archive is as good a pool
_ACCURATE = 1.0  # nats: the regression's own standard deviation of log p, where the particles would be
_AS_FORETOLD = 0.95  # independent draws per particle that p/ρ leaves: with fewer, particles are chosen from all points
_MOST_OUTSIDE = 0.01  # of the last points: the regression knows no walls
_NEARLY_ALL = 0.9999
_MOST_POINTS, _FEWEST_POINTS = 1500, 40
_MOST_ROUNDS, _FEWEST_DRAWS = 6, 2048
_MOST_COSTLY = 3  # particles cost at most one in so many of all evaluations


def could_be_polished(state: AdaptiveState) -> bool:
    """Whether the weighted points are worth so little that a regression may know more."""
    is_cheap = _MOST_COSTLY * state.num_particles <= state.max_evals
    return is_cheap and state.polish is None and state.effective_sample_size < _POOR * state.num_particles


def begin_polish(state: AdaptiveState, initial: Initial, rng: np.random.Generator) -> AdaptiveState | None:
    """The state with particles to evaluate; None if the regression does not know log p well enough."""
    rows = _known_best(state)
    if len(rows) < _FEWEST_POINTS or state.fitted is None or _meets_walls(state):
        return None
    taught, values = state.ledger.points[rows], state.ledger.log_prob[rows]
    known = fit_regression(taught, values, state.fitted.density)
    if known is None:
        return None
    pool = _weighed(known, state.fitted, _POOR * state.num_particles, initial, rng)
    if pool is None:
        return None
    chosen = select(pool.points, normalize(pool.log_weights), state.num_particles, log_prob=pool.log_prob)
    points, density = pool.points[chosen], SurrogateDensity.of(known, taught, values, pool.log_evidence)
    polish = Polish(points, pool.log_prob[chosen], is_good=False)
    return replace(state, polish=polish, next=Batch("polish", points, (density,), (len(points),)))


def end_polish(state: AdaptiveState, polish: Polish, evaluation: Evaluation) -> AdaptiveState:
    """The answer if the particles are as dense as foretold."""
    ratios = evaluation.log_prob - polish.log_prob
    good = bool(np.isfinite(ratios).all()) and (
        effective_sample_size(normalize(ratios)) > _AS_FORETOLD * state.num_particles
    )
    polish = Polish(polish.points, evaluation.log_prob, is_good=good)
    return replace(state, polish=polish, next=Batch.nothing(polish.points.shape[1]))


def _weighed(
    known: Regression, fitted: Fitted, wanted: float, initial: Initial, rng: np.random.Generator
) -> WeightedArchive | None:
    """A pool of points that were not evaluated, worth so many independent draws.

    None if there is no such pool, or if little is known where its weight is.
    """
    dimension = fitted.density.dimension
    pool, variance = WeightedArchive.empty(dimension), np.empty(0)
    for _ in range(_MOST_ROUNDS):
        points = fitted.density.quasi_random(max(_FEWEST_DRAWS, int(wanted)), rng)
        mean, more = known.predict(points)
        pool = pool.extended(points, mean - more, (fitted.density,), (len(points),), initial)
        variance = np.concatenate([variance, more])
        if not normalize(pool.log_weights) @ variance < _ACCURATE**2:
            return None
        if pool.effective_sample_size > wanted:
            return pool
        power = temper(pool.log_weights, max(100.0, 5.0 * dimension))
        fitted = CurvedMixtures().choose(weighted_sample(pool.points, pool.log_weights, power), rng, fitted)
    return None


def _meets_walls(state: AdaptiveState) -> bool:
    """Whether some of the last points are outside the support."""
    num_recent = next(count for count in reversed(state.ledger.counts) if count > 0)
    recent = state.ledger.log_prob[-num_recent:]
    return bool(np.isneginf(recent).mean() > _MOST_OUTSIDE)


def _known_best(state: AdaptiveState) -> IntegerArray:
    """The heaviest points that hold nearly all weight; none if these are too many for a regression."""
    log_weights = state.ledger.log_weights
    order = np.argsort(-log_weights, kind="stable")
    order = order[np.isfinite(log_weights[order])]
    num_kept = max(_FEWEST_POINTS, int(np.searchsorted(np.cumsum(normalize(log_weights[order])), _NEARLY_ALL)) + 1)
    return np.asarray(order[:num_kept] if num_kept <= _MOST_POINTS else order[:0])
