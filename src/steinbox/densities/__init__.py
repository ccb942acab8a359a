"""Densities with draws: Gaussian, mixtures, densities behind a map, the initial distribution; how they are fitted."""

from steinbox.densities.density import Density, MixtureDensity
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.densities.initial import Initial
from steinbox.densities.mixture import Mixture
from steinbox.densities.pullback import Pullback

__all__ = ["Density", "Gaussian", "GaussianMixture", "Initial", "Mixture", "MixtureDensity", "Pullback"]
