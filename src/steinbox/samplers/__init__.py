"""The paper's four algorithms and the archive sampler, in ask / evaluate / tell form."""

from steinbox.samplers.annealed_gf_svgd import AnnealedGFSVGD
from steinbox.samplers.annealed_svgd import AnnealedSVGD
from steinbox.samplers.base import Sampler
from steinbox.samplers.gf_svgd import GFSVGD
from steinbox.samplers.svgd import SVGD

__all__ = ["GFSVGD", "SVGD", "AnnealedGFSVGD", "AnnealedSVGD", "Sampler"]
