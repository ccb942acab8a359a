"""Test problems: log-density, score, exact draws and moments."""

from steinbox.gaussian import Gaussian
from steinbox.mixtures import GaussianMixture
from steinbox.targets.banana import Banana
from steinbox.targets.paper import paper_gaussian, paper_gmm

__all__ = ["Banana", "Gaussian", "GaussianMixture", "paper_gaussian", "paper_gmm"]
