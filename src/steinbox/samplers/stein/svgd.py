"""Stein variational gradient descent, with the target's score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.common.arrays import Array
from steinbox.evaluation import Evaluation
from steinbox.samplers.stein.sampler import Force, SteinSampler, SteinState


@dataclass(frozen=True, kw_only=True)
class SVGD(SteinSampler):
    r"""Stein variational gradient descent (Liu & Wang, 2016; update 1 of Han & Liu, 2018):

    .. math:: \Delta x_i = \frac1n \sum_j \big[ \nabla\log p(x_j) k(x_j, x_i) + \nabla_{x_j} k(x_j, x_i) \big].

    It needs ``score=`` of :func:`steinbox.sample`. A particle whose score or value failed pushes nobody.

    Examples
    --------
    >>> import steinbox as sb
    >>> target = sb.Gaussian([1.0, -1.0], std=0.5)
    >>> result = sb.sample(target.log_prob, sb.Gaussian([0.0, 0.0], std=2.0), score=target.score, vectorized=True,
    ...                    method=sb.SVGD(num_iterations=200), num_particles=50)
    >>> result.particles.mean(axis=0).round(1)
    array([ 1., -1.])
    """

    @property
    def needs_score(self) -> bool:
        return True

    def force(self, state: SteinState, points: Array, evaluation: Evaluation, temperature: float) -> Force:
        return Force(target_score(evaluation), support_log_weights(evaluation))


def target_score(evaluation: Evaluation) -> Array:
    """The target's score, which the evaluator must have brought."""
    if evaluation.score is None:
        raise ValueError("this method needs the target's score; the evaluation has none")
    return evaluation.score


def support_log_weights(evaluation: Evaluation) -> Array:
    """Equal log-weights, −inf for particles that are outside the support or failed."""
    return np.where(np.isfinite(evaluation.log_prob), 0.0, -np.inf)
