"""Densities fitted to weighted points."""
