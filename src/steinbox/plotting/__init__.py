"""Pictures of particles and runs. They need matplotlib (``pip install "steinbox[plot]"``)."""

from steinbox.plotting.comparison import plot_comparison
from steinbox.plotting.particles import plot_particles

__all__ = ["plot_comparison", "plot_particles"]
