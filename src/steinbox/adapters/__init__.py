"""Log-densities that live elsewhere: in another program, behind a web address, in a PyMC model."""

from steinbox.adapters.pymc import PyMCModel
from steinbox.adapters.subprocess import ProgramError, Subprocess
from steinbox.adapters.umbridge import UMBridge, UMBridgeError

__all__ = ["ProgramError", "PyMCModel", "Subprocess", "UMBridge", "UMBridgeError"]
