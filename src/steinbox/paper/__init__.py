"""The evaluation of Han & Liu (2018): their targets, data sets, figures and claims; ``steinbox reproduce`` runs it."""

from steinbox.paper import datasets, targets

__all__ = ["datasets", "targets"]
