"""How far a sample is from a distribution, and what to do about it."""

from steinbox.discrepancies.black_box_weights import BlackBoxWeights, black_box_weights
from steinbox.discrepancies.diagnostics import Diagnostics
from steinbox.discrepancies.discrepancy import Discrepancy
from steinbox.discrepancies.goodness_of_fit import GoodnessOfFit, goodness_of_fit
from steinbox.discrepancies.ksd import gf_ksd, ksd
from steinbox.discrepancies.mmd import mmd
from steinbox.discrepancies.thinning import thin

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
    "thin",
]
