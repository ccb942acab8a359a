"""``steinbox diagnose``: how good the particles of a saved run are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from steinbox.cli.console import fail, out_console, show_result
from steinbox.cli.files import load_result


def diagnose(run: Annotated[Path, typer.Argument(help="A result that `steinbox sample` wrote (.npz).")]) -> None:
    """Say how good a run's particles are, from the log-densities in its file: nothing is evaluated."""
    result = load_result(run)
    try:
        diagnostics = result.diagnostics()
    except ValueError as error:
        fail(str(error))
    show_result(result)
    out_console.print(escape(str(diagnostics)), highlight=False)
