"""The command line: ``steinbox sample``, ``diagnose``, ``demo`` and ``reproduce``. A leaf: nothing imports it."""

from steinbox.cli.main import app, main

__all__ = ["app", "main"]
