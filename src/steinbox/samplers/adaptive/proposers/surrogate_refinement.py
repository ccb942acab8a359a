r"""Refinement: particles chosen from any number of points whose log-densities a surrogate predicts.

With few evaluations the archive is a poor pool to choose from, but its log-densities may predict log p everywhere near.
Then points that were never evaluated are as good as those that were: drawn from the fitted family, weighted by a
:class:`~steinbox.samplers.adaptive.surrogate_density.SurrogateDensity` :math:`\rho`, and the family fitted to them, in
turn. The particles are chosen from all of them, and only these are evaluated.

If :math:`p / \rho` is even there, they are the result. If not, they are points of the archive like others, draws of
:math:`\rho`, and weighted with the others: a proposal that is far better than a mixture where mixtures are poor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.serialization import serializable
from steinbox.densities.fitting.family import Fitted
from steinbox.numerics.herding import select
from steinbox.numerics.weights import effective_sample_size, normalize, temper
from steinbox.samplers.adaptive.proposer import Block, Offer, Proposer, Reserve, View
from steinbox.samplers.adaptive.surrogate_density import Regression, SurrogateDensity, fit_regression
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive

_MAX_PARTICLE_SHARE = 1 / 3  # of the budget: what the evaluation of the particles may cost
_MAX_OUTSIDE = 0.01  # of the last points outside the support: the surrogate knows no walls
_TRAINING_MASS = 0.9999  # of the weight: the training points hold it
_MAX_ROUNDS, _MIN_DRAWS = 6, 2048


@serializable("adaptive-prediction")
@dataclass(frozen=True, eq=False)
class Prediction:
    """Particles that the surrogate chose, and their predicted log-densities."""

    points: Array
    log_prob: Array

    def agrees(self, log_prob: Array, min_agreement: float) -> bool:
        """Whether the log-densities that were found are those predicted, but for a constant."""
        if len(log_prob) < len(self.log_prob) or not np.isfinite(log_prob).all():
            return False
        weights = normalize(log_prob - self.log_prob)
        return effective_sample_size(weights) > min_agreement * len(weights)


@dataclass(frozen=True)
class SurrogateRefinement(Proposer):
    """The last batch, if the points are worth few independent draws and a surrogate predicts log p well enough."""

    name = "surrogate refinement"

    def propose(
        self, view: View, memory: Prediction | None, rng: np.random.Generator
    ) -> tuple[Offer, Prediction | None]:
        num_particles = view.num_particles
        is_affordable = num_particles <= _MAX_PARTICLE_SHARE * view.max_evals
        is_poor = view.path[-1].effective_sample_size < _wanted(view)
        if not (is_affordable and is_poor) or view.num_left < num_particles:
            return None, memory
        if view.num_left > num_particles or view.num_out > 0:
            return Reserve(num_particles), memory
        return self._refine(view, rng) or (None, memory)

    def _refine(self, view: View, rng: np.random.Generator) -> tuple[Block, Prediction] | None:
        """Particles to evaluate; None if the surrogate does not predict log p well enough."""
        rows = _training_rows(view)
        if len(rows) < view.tuning.min_refinement_points or view.fit is None or _meets_walls(view.archive):
            return None
        points, values = view.archive.points[rows], view.archive.log_prob[rows]
        regression = fit_regression(points, values, view.fit.density)
        pool = None if regression is None else self._predict_pool(regression, view, view.fit, rng)
        if regression is None or pool is None:
            return None
        chosen = select(pool.points, normalize(pool.log_weights), view.num_particles, log_prob=pool.log_prob)
        density = SurrogateDensity.of(regression, points, values, pool.log_evidence)
        block = Block(pool.points[chosen], (Source(self.name, density, len(chosen)),))
        return block, Prediction(pool.points[chosen], pool.log_prob[chosen])

    def _predict_pool(
        self, regression: Regression, view: View, fitted: Fitted, rng: np.random.Generator
    ) -> WeightedArchive | None:
        """Points that were not evaluated, worth enough independent draws.

        None if there is no such pool, or if the prediction is uncertain where its weight is.
        """
        wanted, dimension = _wanted(view), view.archive.dimension
        pool, variance = WeightedArchive.empty(dimension), np.empty(0)
        for _ in range(_MAX_ROUNDS):
            points = fitted.density.quasi_random(max(_MIN_DRAWS, int(wanted)), rng)
            mean, more = regression.predict(points)
            source = Source(self.name, fitted.density, len(points))
            pool = pool.extend(points, mean - more, (source,), view.initial)
            variance = np.concatenate([variance, more])
            if not normalize(pool.log_weights) @ variance < view.tuning.max_prediction_error**2:
                return None
            if pool.effective_sample_size > wanted:
                return pool
            power = temper(pool.log_weights, max(100.0, 5.0 * dimension))
            fitted = view.family.choose(pool.tempered(power), rng, fitted)
        return None


def _wanted(view: View) -> float:
    """The effective sample size of a pool that is as good as any."""
    return view.tuning.draws_per_particle / 2 * view.num_particles


def _meets_walls(archive: WeightedArchive) -> bool:
    """Whether some of the last points are outside the support."""
    num_recent = next(source.count for source in reversed(archive.sources) if source.count > 0)
    return bool(np.isneginf(archive.log_prob[-num_recent:]).mean() > _MAX_OUTSIDE)


def _training_rows(view: View) -> IntegerArray:
    """The heaviest points that hold nearly all weight; none if these are too many for a surrogate."""
    log_weights, tuning = view.archive.log_weights, view.tuning
    order = np.argsort(-log_weights, kind="stable")
    order = order[np.isfinite(log_weights[order])]
    num_holding = int(np.searchsorted(np.cumsum(normalize(log_weights[order])), _TRAINING_MASS)) + 1
    num_kept = max(tuning.min_refinement_points, num_holding)
    return np.asarray(order[:num_kept] if num_kept <= tuning.max_refinement_points else order[:0])
