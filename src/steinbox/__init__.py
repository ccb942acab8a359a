"""steinbox: particles from a distribution known only through the values of its log-density."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from steinbox.common.noise import Noise
from steinbox.common.serialization import serializable
from steinbox.densities.gaussian import Gaussian
from steinbox.densities.gaussian_mixture import GaussianMixture
from steinbox.evaluation import Archive, Evaluation, TargetError, TimeSpentError, WorkersLostError
from steinbox.maps import coordinates
from steinbox.maps.bounds import Periodic
from steinbox.model import Model
from steinbox.numerics.herding import select
from steinbox.run.arrivals import Arrivals
from steinbox.run.checkpoint import Checkpoint, CheckpointError, CheckpointWarning
from steinbox.run.loop import Iteration
from steinbox.run.result import Result
from steinbox.run.status import Status
from steinbox.sample import sample
from steinbox.samplers.base import Coverage, Method, Problem, Sample, Sampler, StalledError, WeightedSample

if TYPE_CHECKING:
    from steinbox import adapters, baselines, paper, plotting, surrogates, targets
    from steinbox.densities.fitting import CurvedMixtures
    from steinbox.diagnostics import black_box_weights, gf_ksd, goodness_of_fit, ksd, mmd, stein_thin, thin
    from steinbox.numerics import bandwidth, kernels, optimizers
    from steinbox.run.compare import compare
    from steinbox.samplers import adaptive
    from steinbox.samplers.adaptive import AdaptiveImportanceSampling, Proposer
    from steinbox.samplers.annealing import Schedule
    from steinbox.samplers.stein import GFSVGD, SVGD, AnnealedGFSVGD, AnnealedSVGD, RandomFeatures
    from steinbox.surrogates import weight_fields

__version__ = "0.1.0"

logging.getLogger("steinbox").addHandler(logging.NullHandler())

__all__ = [
    "GFSVGD",
    "SVGD",
    "AdaptiveImportanceSampling",
    "AnnealedGFSVGD",
    "AnnealedSVGD",
    "Archive",
    "Arrivals",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "Coverage",
    "CurvedMixtures",
    "Evaluation",
    "Gaussian",
    "GaussianMixture",
    "Iteration",
    "Method",
    "Model",
    "Noise",
    "Periodic",
    "Problem",
    "Proposer",
    "RandomFeatures",
    "Result",
    "Sample",
    "Sampler",
    "Schedule",
    "StalledError",
    "Status",
    "TargetError",
    "TimeSpentError",
    "WeightedSample",
    "WorkersLostError",
    "adapters",
    "adaptive",
    "bandwidth",
    "baselines",
    "black_box_weights",
    "compare",
    "coordinates",
    "gf_ksd",
    "goodness_of_fit",
    "kernels",
    "ksd",
    "mmd",
    "optimizers",
    "paper",
    "plotting",
    "sample",
    "select",
    "serializable",
    "stein_thin",
    "surrogates",
    "targets",
    "thin",
    "weight_fields",
]

_MODULES = {  # what a result and a model do not need is imported when it is first used (PEP 562)
    "steinbox": ("adapters", "baselines", "paper", "plotting", "surrogates", "targets"),
    "steinbox.densities.fitting": ("CurvedMixtures",),
    "steinbox.diagnostics": ("black_box_weights", "gf_ksd", "goodness_of_fit", "ksd", "mmd", "stein_thin", "thin"),
    "steinbox.numerics": ("bandwidth", "kernels", "optimizers"),
    "steinbox.run.compare": ("compare",),
    "steinbox.samplers": ("adaptive",),
    "steinbox.samplers.adaptive": ("AdaptiveImportanceSampling", "Proposer"),
    "steinbox.samplers.annealing": ("Schedule",),
    "steinbox.samplers.stein": ("GFSVGD", "SVGD", "AnnealedGFSVGD", "AnnealedSVGD", "RandomFeatures"),
    "steinbox.surrogates": ("weight_fields",),
}
_IMPORTED_WHEN_USED = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name):
        """Import a name when it is first used: ``import steinbox`` stays light."""
        if name not in _IMPORTED_WHEN_USED:
            raise AttributeError(f"module 'steinbox' has no attribute {name!r}")
        module = import_module(_IMPORTED_WHEN_USED[name])
        value = vars(module).get(name) or import_module(f"{module.__name__}.{name}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_IMPORTED_WHEN_USED})
