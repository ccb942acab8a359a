"""Test problems: log-density, score, exact draws and moments."""

from steinbox.gaussian import Gaussian
from steinbox.mixtures import GaussianMixture
from steinbox.targets.banana import Banana
from steinbox.targets.funnel import Funnel
from steinbox.targets.gaussians import autoregressive, separated_modes
from steinbox.targets.gp_approximations import ExpectationPropagation, Laplace
from steinbox.targets.gp_classification import GPClassification
from steinbox.targets.logistic_regression import LogisticRegression
from steinbox.targets.paper import (
    paper_gaussian,
    paper_gaussian_surrogate,
    paper_gmm,
    paper_gmm_initial,
    paper_gp_initial,
    paper_rbm,
    paper_rbm_initial,
)
from steinbox.targets.rbm import GaussBernoulliRBM
from steinbox.targets.ring import Ring
from steinbox.targets.student_t import StudentT

__all__ = [
    "Banana",
    "ExpectationPropagation",
    "Funnel",
    "GPClassification",
    "GaussBernoulliRBM",
    "Gaussian",
    "GaussianMixture",
    "Laplace",
    "LogisticRegression",
    "Ring",
    "StudentT",
    "autoregressive",
    "paper_gaussian",
    "paper_gaussian_surrogate",
    "paper_gmm",
    "paper_gmm_initial",
    "paper_gp_initial",
    "paper_rbm",
    "paper_rbm_initial",
    "separated_modes",
]
