"""What the commands print: text, tables, JSON, errors. No control character of a name or a message gets through."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

import steinbox as sb
from steinbox.common.text import plain

if TYPE_CHECKING:
    from rich.console import Console


@cache
def _console(*, is_error: bool = False) -> Console:
    from rich.console import Console  # here, since `--help` needs none

    return Console(stderr=is_error)


def say(text: object, *, style: str | None = None, is_error: bool = False, wrap: bool = True) -> None:
    """Print text as it is: no markup, no color of numbers, no control characters."""
    console = _console(is_error=is_error)
    console.print(plain(text), style=style, markup=False, highlight=False, soft_wrap=not wrap)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose first column is text, and the others are numbers."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(plain(title)))
    for k, column in enumerate(columns):
        table.add_column(escape(plain(column)), justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*(escape(plain(cell)) for cell in row))
    _console().print(table)


def show_result(result: sb.Result) -> None:
    """Print a result: its summary, status, warnings and failures."""
    summary = result.summary()
    title = f"{len(result.particles)} particles, {result.num_evals:,} evaluations"
    show_table(title, summary.columns, summary.rows)
    for sentence in summary.sentences:
        say(sentence, style="yellow" if sentence.startswith("Warning: ") else None)
    for kind, failure in result.failures.items():
        say(f"{failure.count:,} evaluations failed ({kind}); the first {failure}", style="yellow")


def show_json(content: object) -> None:
    """Print JSON for programs: ASCII, and null where there is no number."""
    typer.echo(json.dumps(_without_nan(content), indent=2, allow_nan=False))


def _without_nan(tree: Any) -> Any:
    """The same with None for NaN and infinities, which JSON does not have.

    Examples
    --------
    >>> _without_nan({"a": [1.0, float("nan")], "b": {"c": float("inf")}})
    {'a': [1.0, None], 'b': {'c': None}}
    """
    if isinstance(tree, Mapping):
        return {str(key): _without_nan(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_without_nan(value) for value in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree


def report_written(path: Path) -> None:
    """Print which file was written."""
    say(f"wrote {path}", wrap=False)


def show_user_traceback(error: BaseException) -> None:
    """Print the traceback without the frames of steinbox, which do not help the user."""
    ours = str(Path(sb.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen importlib"))]
    text = "".join(traceback.format_list(theirs)) + "".join(traceback.format_exception_only(error))
    say(text.rstrip(), is_error=True, wrap=False)


def fail(message: str) -> NoReturn:
    """Print an error and exit with code 1."""
    say(f"Error: {message}", style="red", is_error=True, wrap=False)
    raise typer.Exit(1)
