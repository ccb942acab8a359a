"""Densities to draw from, fitted to weighted points: mixtures, curved maps, and what looks beyond them."""
