"""What steinbox is compared with: samplers of the literature, usable as ``method=`` of :func:`steinbox.sample`."""

from steinbox.baselines.ais import AIS, GFAIS
from steinbox.baselines.differential_evolution import DifferentialEvolution
from steinbox.baselines.importance import ImportanceSampling
from steinbox.baselines.kamh import KAMH
from steinbox.baselines.khmc import KHMC
from steinbox.baselines.metropolis import AdaptiveMetropolis, RandomWalkMetropolis
from steinbox.baselines.smc import SMC

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
