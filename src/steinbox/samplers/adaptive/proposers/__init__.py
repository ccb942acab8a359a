"""The proposers of the default sampler, one idea each."""

from steinbox.samplers.adaptive.proposers.climbs import Climbs
from steinbox.samplers.adaptive.proposers.fitted_family import FittedFamily
from steinbox.samplers.adaptive.proposers.quadratic_fit import QuadraticFit
from steinbox.samplers.adaptive.proposers.repeats import Repeats
from steinbox.samplers.adaptive.proposers.surrogate_refinement import SurrogateRefinement
from steinbox.samplers.adaptive.proposers.surrogate_search import SurrogateSearch
from steinbox.samplers.adaptive.proposers.thin_tail import ThinTail

__all__ = ["Climbs", "FittedFamily", "QuadraticFit", "Repeats", "SurrogateRefinement", "SurrogateSearch", "ThinTail"]
