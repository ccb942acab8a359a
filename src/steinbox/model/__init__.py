"""The user's model: a prior by names, a likelihood, parameters that are held, and what the function is called with."""

from steinbox.model.arguments import Arguments
from steinbox.model.model import Model
from steinbox.model.prior import Prior
from steinbox.model.target import Target, as_target

__all__ = ["Arguments", "Model", "Prior", "Target", "as_target"]
