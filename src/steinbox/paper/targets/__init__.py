"""The targets of Section 5 of Han & Liu (2018)."""

from steinbox.paper.targets.gp_approximations import ExpectationPropagation, Laplace
from steinbox.paper.targets.gp_classification import GPClassification
from steinbox.paper.targets.problems import (
    paper_gaussian,
    paper_gaussian_surrogate,
    paper_gmm,
    paper_gmm_initial,
    paper_gp_initial,
    paper_rbm,
    paper_rbm_initial,
)
from steinbox.paper.targets.rbm import GaussBernoulliRBM

__all__ = [
    "ExpectationPropagation",
    "GPClassification",
    "GaussBernoulliRBM",
    "Laplace",
    "paper_gaussian",
    "paper_gaussian_surrogate",
    "paper_gmm",
    "paper_gmm_initial",
    "paper_gp_initial",
    "paper_rbm",
    "paper_rbm_initial",
]
