"""``steinbox report``: one HTML page about a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steinbox.cli.console import fail, report_written
from steinbox.cli.files import load_result, require_writable


def report(
    run: Annotated[Path, typer.Argument(help="A result that `steinbox sample` wrote (.npz).")],
    out: Annotated[Path | None, typer.Option(help="The page to write (.html); default: beside the result.")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Write one HTML page about a run: whether to trust it, numbers, plots, failures. It loads nothing."""
    result = load_result(run)
    path = run.with_suffix(".html") if out is None else out
    require_writable(path)
    try:
        report_written(result.report(path))
    except (ImportError, ValueError) as error:
        fail(str(error))
    if open_page:
        typer.launch(path.resolve().as_uri())
