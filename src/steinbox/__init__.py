"""steinbox: particles from a distribution known only through the values of its log-density."""

from steinbox import bandwidth, baselines, coordinates, datasets, kernels, optimizers, surrogates, targets
from steinbox.annealing import Schedule
from steinbox.archive_sampler import ArchiveSampler
from steinbox.checkpoint import Checkpoint, CheckpointError, CheckpointWarning
from steinbox.discrepancies import black_box_weights, gf_ksd, goodness_of_fit, ksd, mmd, thin
from steinbox.evaluate import Archive, TargetError, WorkersLostError
from steinbox.gaussian import Gaussian
from steinbox.mixtures import GaussianMixture
from steinbox.result import Result
from steinbox.sample import sample
from steinbox.samplers import GFSVGD, SVGD, AnnealedGFSVGD, AnnealedSVGD
from steinbox.selection import select
from steinbox.status import Status
from steinbox.transforms import Periodic

__version__ = "0.1.0"

__all__ = [
    "GFSVGD",
    "SVGD",
    "AnnealedGFSVGD",
    "AnnealedSVGD",
    "Archive",
    "ArchiveSampler",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "Gaussian",
    "GaussianMixture",
    "Periodic",
    "Result",
    "Schedule",
    "Status",
    "TargetError",
    "WorkersLostError",
    "bandwidth",
    "baselines",
    "black_box_weights",
    "coordinates",
    "datasets",
    "gf_ksd",
    "goodness_of_fit",
    "kernels",
    "ksd",
    "mmd",
    "optimizers",
    "sample",
    "select",
    "surrogates",
    "targets",
    "thin",
]
