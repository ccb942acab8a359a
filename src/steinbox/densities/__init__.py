"""Densities with draws: Gaussian, mixtures, densities behind a map, the initial distribution; how they are fitted."""
