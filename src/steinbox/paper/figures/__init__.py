"""The figures of Han & Liu (2018), one file each, with the claims of the paper.

``steinbox reproduce`` runs them; :data:`EXPERIMENTS` has them by name.
"""

from steinbox.paper.claims import Claim, Finding
from steinbox.paper.experiment import Experiment, run
from steinbox.paper.figures.gaussian import GAUSSIAN
from steinbox.paper.figures.gmm import GMM
from steinbox.paper.figures.gp import GP_GLASS, GP_SUSY
from steinbox.paper.figures.rbm import RBM
from steinbox.paper.table import Row, Table, Task

EXPERIMENTS: dict[str, Experiment] = {each.name: each for each in (GAUSSIAN, GMM, RBM, GP_GLASS, GP_SUSY)}
"""All experiments by their names on the command line."""

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Finding", "Row", "Table", "Task", "run"]
