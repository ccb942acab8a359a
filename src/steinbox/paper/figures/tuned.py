"""What the paper leaves open, chosen on seeds of their own: printed by ``python benchmarks/paper_sweep.py``.

For every method the best learning rate with the paper's bandwidth (for GF-AIS the step), and the best rate and
bandwidth rule together. The rate of 0.1 and the paper's bandwidth are kept unless others lower the mean log10 MMD² by
0.1 or more.
"""

from __future__ import annotations

from typing import NamedTuple

from steinbox.paper.figures.drawing import ANNEALED_SVGD, GF_AIS, GF_SVGD, KERNEL_CURVE, SVGD


class Tuned(NamedTuple):
    """Two settings of a method."""

    rate: str
    all: str


GMM = {
    SVGD: Tuned("paper", "median"),
    ANNEALED_SVGD: Tuned("paper rate=3", "median rate=0.01"),
    GF_SVGD: Tuned("paper", "liu-wang rate=3"),
    KERNEL_CURVE: Tuned("paper rate=0.3", "paper rate=0.3"),
    GF_AIS: Tuned("paper plain", "paper plain"),
}
RBM = {KERNEL_CURVE: Tuned("paper", "paper")}
