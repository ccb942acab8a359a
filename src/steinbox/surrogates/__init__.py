r"""Surrogates :math:`\rho`: what GF-SVGD uses in place of the target's gradient.

Given once: :class:`Flat`, :class:`Gaussian`, :class:`GaussianMixture`, or any object with ``log_prob`` and ``score``.
Rebuilt at every step: :class:`FittedGaussian`, :class:`KernelCurve` (the paper's), :class:`Interpolant` (the default),
:class:`Smoother` (for noisy values).
To judge a sample: :class:`LeaveOneOut` and :class:`PassThrough` (the defaults of the discrepancies), or any other.
"""

from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.surrogates.base import Builder, Surrogate
from steinbox.surrogates.cross_validated import LeaveOneOut, PassThrough
from steinbox.surrogates.fitted_gaussian import FittedGaussian
from steinbox.surrogates.flat import Flat
from steinbox.surrogates.interpolant import Interpolant
from steinbox.surrogates.kernel_curve import KernelCurve
from steinbox.surrogates.smoother import Smoother

__all__ = [
    "Builder",
    "FittedGaussian",
    "Flat",
    "Gaussian",
    "GaussianMixture",
    "Interpolant",
    "KernelCurve",
    "LeaveOneOut",
    "PassThrough",
    "Smoother",
    "Surrogate",
]
