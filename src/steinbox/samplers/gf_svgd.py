"""Gradient-free SVGD: a surrogate's score, corrected by importance weights."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from steinbox.evaluate import Evaluation
from steinbox.samplers.stein import Force, SteinSampler, SteinState, require_two
from steinbox.surrogates.base import Builder, Surrogate, as_builder, evaluate
from steinbox.surrogates.interpolant import Interpolant
from steinbox.types import Array


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

    def __post_init__(self) -> None:
        super().__post_init__()
        as_builder(self.surrogate)

    @property
    def num_history(self) -> int:
        return as_builder(self.surrogate).num_history

    def force(self, state: SteinState, points: Array, evaluation: Evaluation, temperature: float) -> Force:
        all_points = np.concatenate([points, state.history])
        log_prob = np.concatenate([evaluation.log_prob, state.history_log_prob])
        log_target = self.log_target(all_points, log_prob, temperature)
        current = log_target[: len(points)]
        require_two(np.isfinite(current))
        known = np.concatenate([~evaluation.failed, np.full(len(state.history), True)])
        num_current = int(known[: len(points)].sum())
        surrogate = as_builder(self.surrogate).build(all_points[known], log_target[known], num_current)
        log_surrogate, score = evaluate(surrogate, points)
        return Force(score, log_importance_weights(log_surrogate, current))


def log_importance_weights(log_surrogate: Array, log_target: Array) -> Array:
    r"""The logarithms of :math:`w = \rho / p`, −inf where p is zero or unknown: such a particle pushes nobody."""
    inside = np.isfinite(log_target) & np.isfinite(log_surrogate)
    return np.where(inside, log_surrogate - np.where(inside, log_target, 0.0), -np.inf)
