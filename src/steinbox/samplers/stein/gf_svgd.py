"""Gradient-free SVGD: a surrogate's score, corrected by importance weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.common.checks import require_noise
from steinbox.evaluation import Evaluation
from steinbox.maps.coordinates import Whitened
from steinbox.numerics.pairwise import squared_distances
from steinbox.samplers.base import Problem
from steinbox.samplers.stein.sampler import Force, SteinSampler, SteinState, require_two
from steinbox.surrogates.base import Builder, Surrogate, as_builder, evaluate
from steinbox.surrogates.interpolant import Interpolant
from steinbox.surrogates.smoother import Smoother

_MOST_KNOWN = 500


@dataclass(frozen=True, kw_only=True)
class GFSVGD(SteinSampler):
    r"""Gradient-free SVGD (Algorithm 1 of Han & Liu, 2018):

    .. math:: \Delta x_i = \frac{1}{\sum_j w_j} \sum_j w_j \big[ \nabla\log\rho(x_j) k(x_j, x_i)
              + \nabla_{x_j} k(x_j, x_i) \big], \qquad w_j = \rho(x_j) / p(x_j).

    Neither :math:`\rho` nor p needs a normaliser.

    Parameters
    ----------
    surrogate : Surrogate or Builder
        A fixed :math:`\rho`, any object with ``log_prob(x)`` and ``score(x)``, or one of :mod:`steinbox.surrogates`
        that is rebuilt from the target's values at every step.
    noise : float or bool
        Whether the values are noisy: their standard deviation, or True to have it estimated. The interpolant then
        smooths, and all weights are one, since :math:`\rho` knows p better than a single value does.

    Examples
    --------
    >>> import numpy as np
    >>> import steinbox as sb
    >>> result = sb.sample(lambda x: -0.5 * np.sum((x - 1) ** 2), sb.Gaussian([0.0, 0.0], std=3.0), num_particles=50,
    ...                    method=sb.GFSVGD(surrogate=sb.Gaussian([0.0, 0.0], std=1.7), num_iterations=200))
    >>> np.abs(result.particles.mean(axis=0) - 1).max() < 0.1
    np.True_
    """

    surrogate: Surrogate | Builder = field(default_factory=Interpolant)
    noise: float | bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        as_builder(self.surrogate)
        require_noise(self.noise)

    @property
    def num_history(self) -> int:
        return self.builder(1.0).num_history

    def builder(self, temperature: float) -> Builder:
        """What builds the surrogate: on the path, the noise has its share of the temperature."""
        builder = as_builder(self.surrogate)
        if self.noise is False or not isinstance(builder, Interpolant):
            return builder
        return Smoother(noise=None if self.noise is True else self.noise * temperature, kernel=builder.kernel)

    def plan(self, problem: Problem) -> Self:
        return replace(super().plan(problem), noise=self.noise or problem.noise)

    def warm_start(self, state: SteinState, points: Array, log_prob: Array) -> SteinState:
        """Values from earlier runs train the surrogate wherever the particles come near them."""
        return replace(state, known=points, known_log_prob=log_prob)

    def force(self, state: SteinState, points: Array, evaluation: Evaluation, temperature: float) -> Force:
        near = _nearest(state.known, points)
        all_points = np.concatenate([points, state.history, state.known[near]])
        log_prob = np.concatenate([evaluation.log_prob, state.history_log_prob, state.known_log_prob[near]])
        log_target = self.log_target(all_points, log_prob, temperature)
        current = log_target[: len(points)]
        require_two(np.isfinite(current))
        known = np.concatenate([~evaluation.failed, np.full(len(all_points) - len(points), True)])
        num_current = int(known[: len(points)].sum())
        builder = self.builder(temperature)
        log_surrogate, score = evaluate(builder.build(all_points[known], log_target[known], num_current), points)
        log_weights = log_importance_weights(log_surrogate, current)
        if isinstance(builder, Smoother):
            log_weights = np.where(np.isfinite(log_weights), 0.0, -np.inf)
        return Force(score, log_weights)


def _nearest(known: Array, points: Array) -> IntegerArray:
    """The known points that are closest to any particle, in whitened coordinates; at most 500."""
    if len(known) <= _MOST_KNOWN:
        return np.arange(len(known))
    coordinates = Whitened().fit(points)
    distances = squared_distances(coordinates.forward(known), coordinates.forward(points)).min(axis=1)
    return np.sort(np.argpartition(distances, _MOST_KNOWN)[:_MOST_KNOWN])


def log_importance_weights(log_surrogate: Array, log_target: Array) -> Array:
    r"""The logarithms of :math:`w = \rho / p`, −inf where p is zero or unknown: such a particle pushes nobody."""
    inside = np.isfinite(log_target) & np.isfinite(log_surrogate)
    return np.where(inside, log_surrogate - np.where(inside, log_target, 0.0), -np.inf)
