"""Annealed SVGD: the target's score, along a path of temperatures."""

from __future__ import annotations

from dataclasses import dataclass

from steinbox.common.arrays import Array
from steinbox.evaluation import Evaluation
from steinbox.samplers.annealing import interpolate
from steinbox.samplers.stein.annealed import Annealed
from steinbox.samplers.stein.sampler import Force, SteinState
from steinbox.samplers.stein.svgd import support_log_weights, target_score
from steinbox.surrogates.flat import Flat


@dataclass(frozen=True, kw_only=True)
class AnnealedSVGD(Annealed):
    r"""SVGD on the path :math:`p_t \propto p_0^{1-\alpha_t} p^{\alpha_t}` (Algorithm 2 of Han & Liu, 2018).

    With ``base=surrogates.Flat()`` the path is :math:`p^{\alpha_t}`, and the update is the paper's special case, whose
    repulsion is weighted by the inverse temperature:

    .. math:: \Delta x_i = \frac1n \sum_j \Big[ \nabla\log p(x_j) k(x_j, x_i)
              + \frac{1}{\alpha_t} \nabla_{x_j} k(x_j, x_i) \Big].

    A flat p0 is improper: at small :math:`\alpha_t` the particles fly apart, and in whitened coordinates, whose unit
    grows with the particles, they do so exponentially. Use ``coordinates=coordinates.Plain()`` with it.

    Parameters
    ----------
    schedule : Schedule
        Temperatures, see :mod:`steinbox.samplers.annealing`; ``Schedule(steps_per_temperature=m)`` for the paper's m.
    base : Surrogate, optional
        The p0 of the path; the initial distribution if not given.
    """

    @property
    def needs_score(self) -> bool:
        return True

    def force(self, state: SteinState, points: Array, evaluation: Evaluation, temperature: float) -> Force:
        score, log_weights = target_score(evaluation), support_log_weights(evaluation)
        if isinstance(self.path_base, Flat):
            return Force(score, log_weights, repulsion=1 / temperature)
        return Force(interpolate(self.path_base.score(points), score, temperature), log_weights)
