"""The figures of Han & Liu (2018), one file each, with the claims of the paper.

``steinbox reproduce`` runs them; :data:`EXPERIMENTS` has them by name.
"""

from steinbox.paper.claims import Claim, Finding
from steinbox.paper.experiment import Experiment, run
from steinbox.paper.figures.gaussian import GAUSSIAN
from steinbox.paper.figures.gmm import GMM
from steinbox.paper.figures.gp import GP_GLASS, GP_GLASS_LAPLACE, GP_SUSY, GP_SUSY_LAPLACE
from steinbox.paper.figures.rbm import RBM
from steinbox.paper.table import Row, Table, Task

IN_PAPER = (GAUSSIAN, GMM, RBM, GP_GLASS, GP_SUSY)
"""The paper's own figures, in its order."""

EXPERIMENTS: dict[str, Experiment] = {each.name: each for each in (*IN_PAPER, GP_GLASS_LAPLACE, GP_SUSY_LAPLACE)}
"""All experiments by their names on the command line."""

__all__ = ["EXPERIMENTS", "IN_PAPER", "Claim", "Experiment", "Finding", "Row", "Table", "Task", "run"]
