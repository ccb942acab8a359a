"""``steinbox summary``, ``diagnose``, ``plot``, ``report`` and ``compare``: look at saved runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import steinbox as sb
from steinbox.cli import options
from steinbox.cli.console import fail, report_written, say, show_json, show_result
from steinbox.cli.files import load_result, require_writable
from steinbox.cli.numbers import describe_comparison, describe_diagnostics, describe_result


class Picture(StrEnum):
    """What ``--kind`` takes."""

    corner = "corner"
    marginals = "marginals"
    run = "run"
    coverage = "coverage"


def summary(run: options.Run, as_json: options.AsJson = False) -> None:
    """Print the numbers of a saved run.

    Mean, standard deviation, quantiles and errors of every parameter, the status, and warnings.
    """
    result = load_result(run)
    if as_json:
        show_json(describe_result(result))
    else:
        show_result(result)


def diagnose(run: options.Run, as_json: options.AsJson = False) -> None:
    """Assess the particles of a saved run.

    This uses the log-densities in the file and makes no new evaluations.
    """
    result = load_result(run)
    try:
        diagnostics = result.diagnostics()
    except ValueError as error:
        fail(str(error))
    if as_json:
        show_json(describe_diagnostics(diagnostics))
        return
    show_result(result)
    say(diagnostics)


def plot(
    run: options.Run,
    kind: Annotated[Picture, typer.Option(help="What to draw.")] = Picture.corner,
    out: Annotated[Path, typer.Option(help="Where to write it: .png, .pdf, .svg.")] = Path("run.png"),
) -> None:
    """Plot a saved run.

    Its particles, its marginal distributions, its history, or what it knows about missed modes.
    """
    result = load_result(run)
    require_writable(out)
    try:
        drawn = getattr(sb.plotting, kind.value)(result)
        getattr(drawn, "figure", drawn).savefig(out, dpi=150)  # axes, or a figure
    except (ImportError, ValueError) as error:
        fail(str(error))
    report_written(out)


def report(
    run: options.Run,
    out: Annotated[Path | None, typer.Option(help="The page to write (.html). Default: next to the result.")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write one HTML page about a saved run.

    It shows whether to trust the run, its numbers, plots and failures. The page loads nothing from elsewhere.
    """
    result = load_result(run)
    path = run.with_suffix(".html") if out is None else out
    require_writable(path)
    try:
        report_written(result.report(path))
    except (ImportError, ValueError) as error:
        fail(str(error))
    if open_page:
        typer.launch(path.resolve().as_uri())


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two or more results of the same problem.")],
    as_json: options.AsJson = False,
) -> None:
    """Check whether runs of the same problem agree.

    The runs may have different seeds or methods.
    """
    if len(runs) < 2:
        fail("expected two or more files to compare, got one")
    try:
        comparison = sb.compare([load_result(path) for path in runs])
    except ValueError as error:
        fail(str(error))
    if as_json:
        show_json(describe_comparison(comparison))
    else:
        say(comparison)
