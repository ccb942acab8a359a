"""What steinbox is compared with: samplers of the literature, usable as ``method=`` of :func:`steinbox.sample`."""

from steinbox.samplers.ais import AIS, GFAIS
from steinbox.samplers.importance import ImportanceSampling
from steinbox.samplers.markov.differential_evolution import DifferentialEvolution
from steinbox.samplers.markov.kamh import KAMH
from steinbox.samplers.markov.khmc import KHMC
from steinbox.samplers.markov.metropolis import AdaptiveMetropolis, RandomWalkMetropolis
from steinbox.samplers.smc import SMC

__all__ = [
    "AIS",
    "GFAIS",
    "KAMH",
    "KHMC",
    "SMC",
    "AdaptiveMetropolis",
    "DifferentialEvolution",
    "ImportanceSampling",
    "RandomWalkMetropolis",
]
