"""What the commands print: results, files written, errors."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import steinbox as sb

out_console, error_console = Console(), Console(stderr=True)


def show_result(result: sb.Result) -> None:
    """Print a result: its summary, status, warnings and failures."""
    summary = result.summary()
    table = Table(title=escape(f"{len(result.particles)} particles, {result.num_evals:,} evaluations"))
    for k, column in enumerate(summary.columns):
        table.add_column(column, justify="left" if k == 0 else "right")
    for row in summary.rows:
        table.add_row(*map(escape, row))
    out_console.print(table)
    for sentence in summary.sentences:
        style = "yellow" if sentence.startswith("Warning: ") else None
        out_console.print(escape(sentence), style=style, highlight=False)
    for kind, failure in result.failures.items():
        out_console.print(escape(f"{failure.count:,} evaluations failed ({kind}); the first {failure}"), style="yellow")


def report_written(path: Path) -> None:
    """Print which file was written."""
    out_console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def show_user_traceback(error: BaseException) -> None:
    """Print the traceback without the frames of steinbox, which do not help the user."""
    ours = str(Path(sb.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen importlib"))]
    text = "".join(traceback.format_list(theirs)) + "".join(traceback.format_exception_only(error))
    error_console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)


def fail(message: str) -> NoReturn:
    """Print an error and exit with code 1."""
    error_console.print(f"Error: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1)
