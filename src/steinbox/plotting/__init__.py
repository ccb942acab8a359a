"""Pictures of particles and runs. They need matplotlib (``pip install "steinbox[plot]"``)."""

from steinbox.plotting.comparison import compare
from steinbox.plotting.distributions import marginals
from steinbox.plotting.flows import animate, flow
from steinbox.plotting.history import run
from steinbox.plotting.pairs import corner

__all__ = ["animate", "compare", "corner", "flow", "marginals", "run"]
