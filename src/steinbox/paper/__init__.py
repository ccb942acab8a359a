"""All that is the evaluation of Han & Liu (2018): their targets, data sets, figures and claims.

``steinbox reproduce`` runs it. Nothing of the core imports it.
"""

from steinbox.paper import datasets, targets

__all__ = ["datasets", "targets"]
