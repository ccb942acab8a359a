r"""A blend of SVGD and of GF-SVGD with :math:`\rho = 1`, which the paper suggests in Section 5.1 and leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinbox.numerics.weights import normalize
from steinbox.samplers.annealing import NoPath
from steinbox.samplers.base import Problem
from steinbox.samplers.stein.drive import AnnealedValues, Drive, Force, TargetScore
from steinbox.samplers.stein.sampler import SteinFlow, SteinMethod


@dataclass(frozen=True, kw_only=True)
class Hybrid(SteinMethod):
    r"""The update :math:`(1 - \lambda) \phi_{\rho = p} + \lambda\, \phi_{\rho = 1}`, that is

    .. math:: \Delta x_i = \sum_j \Big[ \frac{1-\lambda}{n} \nabla\log p(x_j) k(x_j, x_i)
              + \Big(\frac{1-\lambda}{n} + \lambda v_j\Big) \nabla_{x_j} k(x_j, x_i) \Big],
              \qquad v_j \propto 1 / p(x_j).

    Both parts vanish at the target. The first alone under-estimates variances, the second over-estimates them.

    Parameters
    ----------
    share : float
        The :math:`\lambda`, from 0 (SVGD) to 1 (GF-SVGD with :math:`\rho = 1`).
    """

    share: float = 0.0

    @property
    def needs_score(self) -> bool:
        return True

    def plan(self, problem: Problem) -> SteinFlow:
        return self.compose(problem, Blend(self.share), NoPath())


@dataclass(frozen=True)
class Blend(Drive):
    """The target's score with weights that blend equal ones and those of a flat surrogate."""

    share: float

    def force(self, values: AnnealedValues) -> Force:
        plain, log_prob = TargetScore().force(values), values.log_target_at_particles
        inside = np.isfinite(log_prob)
        drive = (1 - self.share) * normalize(plain.log_weights)
        flat = normalize(np.where(inside, -np.where(inside, log_prob, 0.0), -np.inf))
        repulsion = drive + self.share * flat
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(repulsion > 0, drive / repulsion, 0.0)
            return Force(plain.score * ratio[:, None], np.log(repulsion))
