"""How far a sample is from a distribution, and what to do about it."""

from steinbox.diagnostics.black_box_weights import BlackBoxWeights, black_box_weights
from steinbox.diagnostics.diagnose import Diagnostics
from steinbox.diagnostics.discrepancy import Discrepancy
from steinbox.diagnostics.goodness_of_fit import GoodnessOfFit, goodness_of_fit
from steinbox.diagnostics.ksd import gf_ksd, ksd
from steinbox.diagnostics.mmd import mmd
from steinbox.diagnostics.stein_thinning import stein_thin
from steinbox.diagnostics.thinning import thin

__all__ = [
    "BlackBoxWeights",
    "Diagnostics",
    "Discrepancy",
    "GoodnessOfFit",
    "black_box_weights",
    "gf_ksd",
    "goodness_of_fit",
    "ksd",
    "mmd",
    "stein_thin",
    "thin",
]
