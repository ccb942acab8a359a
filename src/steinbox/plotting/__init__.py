"""Pictures of particles and runs. A leaf: it needs matplotlib (``pip install "steinbox[plot]"``)."""

from steinbox.plotting.particles import plot_particles

__all__ = ["plot_particles"]
