"""Adaptive importance sampling, the default: every evaluation is weighted, and the particles are chosen from all.

``method`` is what a user sets up. The data's way: ``sampler`` (ask, tell) → ``weighted_archive`` → ``proposers/`` (one
idea each) → ``output`` and ``warnings``; ``proposer`` is the seam, ``tuning`` has the numbers that one may want to
change.
"""

from steinbox.samplers.adaptive.method import DEFAULT_PROPOSERS, AdaptiveImportanceSampling
from steinbox.samplers.adaptive.proposer import Block, Draws, Probe, Proposer, Reserve, View
from steinbox.samplers.adaptive.proposers import (
    Climbs,
    FittedFamily,
    QuadraticFit,
    Repeats,
    SurrogateRefinement,
    SurrogateSearch,
    ThinTail,
)
from steinbox.samplers.adaptive.tuning import Tuning
from steinbox.samplers.adaptive.weighted_archive import Source, WeightedArchive

__all__ = [
    "DEFAULT_PROPOSERS",
    "AdaptiveImportanceSampling",
    "Block",
    "Climbs",
    "Draws",
    "FittedFamily",
    "Probe",
    "Proposer",
    "QuadraticFit",
    "Repeats",
    "Reserve",
    "Source",
    "SurrogateRefinement",
    "SurrogateSearch",
    "ThinTail",
    "Tuning",
    "View",
    "WeightedArchive",
]
