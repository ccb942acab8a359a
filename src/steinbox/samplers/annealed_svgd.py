"""Annealed SVGD: the target's score, along a path of temperatures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from steinbox.annealing import Schedule, interpolate
from steinbox.evaluate import Evaluation
from steinbox.initial import Initial
from steinbox.samplers.stein import Force, SteinSampler, SteinState
from steinbox.samplers.svgd import support_log_weights, target_score
from steinbox.surrogates.base import Surrogate
from steinbox.surrogates.flat import Flat
from steinbox.types import Array


@dataclass(frozen=True, kw_only=True)
class AnnealedSVGD(SteinSampler):
    r"""SVGD on the path :math:`p_t \propto p_0^{1-\alpha_t} p^{\alpha_t}` (Algorithm 2 of Han & Liu, 2018).

    With ``base=surrogates.Flat()`` the path is :math:`p^{\alpha_t}`, and the update is the paper's special case, whose
    repulsion is weighted by the inverse temperature:

    .. math:: \Delta x_i = \frac1n \sum_j \Big[ \nabla\log p(x_j) k(x_j, x_i)
              + \frac{1}{\alpha_t} \nabla_{x_j} k(x_j, x_i) \Big].

    Parameters
    ----------
    schedule : Schedule
        Temperatures, and the number m of steps at each.
    base : Surrogate, optional
        The p0 of the path; the initial distribution if not given.
    """

    schedule: Schedule = field(default_factory=Schedule)
    base: Surrogate | None = None

    @property
    def needs_score(self) -> bool:
        return True

    def bind(self, initial: Initial) -> Self:
        return self if self.base is not None else replace(self, base=initial)

    def temperature(self, state: SteinState) -> float:
        return self.schedule(state.iteration, state.num_iterations)

    def force(self, state: SteinState, points: Array, evaluation: Evaluation) -> Force:
        temperature = self.temperature(state)
        score = target_score(evaluation)
        log_weights = support_log_weights(evaluation)
        if self.base is None or isinstance(self.base, Flat):
            return Force(score, log_weights, repulsion=1 / temperature)
        return Force(interpolate(self.base.score(points), score, temperature), log_weights)
