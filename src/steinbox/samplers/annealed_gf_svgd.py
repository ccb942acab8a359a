"""Annealed gradient-free SVGD: the surrogate is rebuilt at every temperature."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from steinbox.annealing import Schedule, interpolate
from steinbox.initial import Initial
from steinbox.samplers.gf_svgd import GFSVGD
from steinbox.samplers.stein import SteinState
from steinbox.surrogates.base import Surrogate
from steinbox.types import Array


@dataclass(frozen=True, kw_only=True)
class AnnealedGFSVGD(GFSVGD):
    r"""GF-SVGD on the path :math:`p_t \propto p_0^{1-\alpha_t} p^{\alpha_t}` (Algorithm 3 of Han & Liu, 2018).

    At iteration t the surrogate :math:`\rho_{t+1}` is built from the values of :math:`p_{t+1}` at the particles. The
    default is the log-domain interpolant; ``surrogate=surrogates.KernelCurve()`` is the paper's.

    Parameters
    ----------
    schedule : Schedule
        Temperatures, and the number of steps at each.
    base : Surrogate, optional
        The p0 of the path; the initial distribution if not given.
    """

    schedule: Schedule = field(default_factory=Schedule)
    base: Surrogate | None = None

    def bind(self, initial: Initial) -> Self:
        return self if self.base is not None else replace(self, base=initial)

    def temperature(self, state: SteinState) -> float:
        return self.schedule(state.iteration, state.num_iterations)

    def log_target(self, state: SteinState, points: Array, log_prob: Array) -> Array:
        if self.base is None:
            raise ValueError("bind the sampler to an initial distribution first, or give it a base")
        return interpolate(self.base.log_prob(points), log_prob, self.temperature(state))
