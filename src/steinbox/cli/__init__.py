"""The command line: ``steinbox sample``, ``diagnose``, ``report``, ``demo`` and ``reproduce``."""

from steinbox.cli.main import app, main

__all__ = ["app", "main"]
