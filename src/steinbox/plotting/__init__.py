"""Pictures of particles and runs. They need matplotlib (``pip install "steinbox[plot]"``)."""

from steinbox.plotting.comparison import compare
from steinbox.plotting.distributions import marginals
from steinbox.plotting.flows import animate, flow
from steinbox.plotting.history import run
from steinbox.plotting.pairs import corner
from steinbox.plotting.unseen import coverage

__all__ = ["animate", "compare", "corner", "coverage", "flow", "marginals", "run"]
