"""Log-densities computed elsewhere: by another program, a server, or a PyMC model."""

from steinbox.adapters.pymc import PyMCModel
from steinbox.adapters.subprocess import ProgramError, Subprocess
from steinbox.adapters.umbridge import UMBridge, UMBridgeError

__all__ = ["ProgramError", "PyMCModel", "Subprocess", "UMBridge", "UMBridgeError"]
