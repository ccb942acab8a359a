"""The paper's four algorithms and the archive sampler, in ask / evaluate / tell form."""

from steinbox.samplers.base import Sampler
from steinbox.samplers.stein.annealed_gf_svgd import AnnealedGFSVGD
from steinbox.samplers.stein.annealed_svgd import AnnealedSVGD
from steinbox.samplers.stein.gf_svgd import GFSVGD
from steinbox.samplers.stein.svgd import SVGD

__all__ = ["GFSVGD", "SVGD", "AnnealedGFSVGD", "AnnealedSVGD", "Sampler"]
