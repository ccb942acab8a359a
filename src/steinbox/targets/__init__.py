"""Test problems: log-density, score, exact draws and moments."""

from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.targets.banana import Banana
from steinbox.targets.funnel import Funnel
from steinbox.targets.gaussians import autoregressive, separated_modes
from steinbox.targets.logistic_regression import LogisticRegression
from steinbox.targets.ring import Ring
from steinbox.targets.student_t import StudentT

__all__ = [
    "Banana",
    "Funnel",
    "Gaussian",
    "GaussianMixture",
    "LogisticRegression",
    "Ring",
    "StudentT",
    "autoregressive",
    "separated_modes",
]
