r"""Surrogates: densities :math:`\rho` with a score, for targets that have log-densities but no gradient.

A surrogate has ``log_prob(points)`` and ``score(points)``. The gradient-free Stein methods move particles by its score
and correct for it with the weights :math:`\rho / p`.

- Fixed: :class:`Flat`, :class:`Gaussian`, :class:`GaussianMixture`, or any object with these two methods.
- Rebuilt at every step from the target's values at the particles: :class:`Interpolant` (the default),
  :class:`Smoother` (for noisy values), :class:`KernelCurve` (that of Han & Liu, 2018), :class:`FittedGaussian`.
- For the points of a given sample: :class:`LeaveOneOut` (the default of the discrepancies and the test of fit) and
  :class:`PassThrough` (the default of thinning and of black-box weights).
"""

from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.surrogates.base import Builder, Surrogate
from steinbox.surrogates.cross_validated import LeaveOneOut, PassThrough, SampleSurrogate
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
    "SampleSurrogate",
    "Smoother",
    "Surrogate",
]
