"""Annealed gradient-free SVGD: the surrogate is rebuilt at every temperature."""

from __future__ import annotations

from dataclasses import dataclass

from steinbox.samplers.stein.annealed import Annealed
from steinbox.samplers.stein.gf_svgd import GFSVGD


@dataclass(frozen=True, kw_only=True)
class AnnealedGFSVGD(Annealed, GFSVGD):
    r"""GF-SVGD on the path :math:`p_t \propto p_0^{1-\alpha_t} p^{\alpha_t}` (Algorithm 3 of Han & Liu, 2018).

    At iteration t the surrogate :math:`\rho_{t+1}` is built from the values of :math:`p_{t+1}` at the particles. The
    default is the log-domain interpolant; ``surrogate=surrogates.KernelCurve()`` is the paper's.

    Parameters
    ----------
    schedule : Schedule
        Temperatures, see :mod:`steinbox.samplers.annealing`.
    base : Surrogate, optional
        The p0 of the path; the initial distribution if not given.
    """
