r"""Surrogates :math:`\rho`: what GF-SVGD uses in place of the target's gradient.

Given once: :class:`Flat`, :class:`Gaussian`, :class:`GaussianMixture`, or any object with ``log_prob`` and ``score``.
Rebuilt at every step: :class:`FittedGaussian`, :class:`KernelCurve` (the paper's), :class:`Interpolant` (the default).
To judge a sample: :class:`LeaveOneOut` (the default of the discrepancies), or any of the others.
"""

from steinbox.gaussian import Gaussian
from steinbox.mixtures import GaussianMixture
from steinbox.surrogates.base import Builder, Surrogate
from steinbox.surrogates.fitted_gaussian import FittedGaussian
from steinbox.surrogates.flat import Flat
from steinbox.surrogates.interpolant import Interpolant
from steinbox.surrogates.kernel_curve import KernelCurve
from steinbox.surrogates.leave_one_out import LeaveOneOut

__all__ = [
    "Builder",
    "FittedGaussian",
    "Flat",
    "Gaussian",
    "GaussianMixture",
    "Interpolant",
    "KernelCurve",
    "LeaveOneOut",
    "Surrogate",
]
