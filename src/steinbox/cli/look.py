"""``steinbox summary``, ``plot`` and ``compare``: look at saved runs."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import steinbox as sb
from steinbox.cli.console import fail, out_console, report_written, show_result
from steinbox.cli.files import load_result, require_writable

Run = Annotated[Path, typer.Argument(help="A result that `steinbox sample` wrote (.npz).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


class Picture(StrEnum):
    """What ``--kind`` takes."""

    corner = "corner"
    marginals = "marginals"
    run = "run"


def summary(
    run: Run, as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False
) -> None:
    """Show mean, standard deviation, quantiles and errors of a saved run."""
    result = load_result(run)
    if not as_json:
        show_result(result)
        return
    table = result.summary()
    quantities = {
        name: {"mean": float(table.mean[k]), "sd": float(table.sd[k]), "mcse": float(table.mcse[k])}
        for k, name in enumerate(table.names)
    }
    content = {
        "parameters": {name: numbers for name, numbers in quantities.items() if name not in table.derived},
        "derived": {name: quantities[name] for name in table.derived},
        "status": result.status.name,
        "warnings": list(result.warnings),
        "log_evidence": result.log_evidence,
        "log_evidence_error": result.log_evidence_error,
        "effective_sample_size": result.effective_sample_size,
        "num_evals": result.num_evals,
        "num_failures": result.num_failures,
    }
    typer.echo(json.dumps(content, indent=2))


def plot(
    run: Run,
    kind: Annotated[Picture, typer.Option(help="Which picture.")] = Picture.corner,
    out: Annotated[Path, typer.Option(help="Where to write it: .png, .pdf, .svg.")] = Path("run.png"),
) -> None:
    """Draw a saved run: its particles, its marginal distributions, or how it went."""
    result = load_result(run)
    require_writable(out)
    try:
        figure = getattr(sb.plotting, kind.value)(result)
        figure.savefig(out, dpi=150)
    except (ImportError, ValueError) as error:
        fail(str(error))
    report_written(out)


def compare(runs: Annotated[list[Path], typer.Argument(help="Two or more results of the same problem.")]) -> None:
    """Say whether runs of the same problem, with other seeds or methods, agree."""
    if len(runs) < 2:
        fail("expected two or more files to compare, got one")
    try:
        comparison = sb.compare([load_result(path) for path in runs])
    except ValueError as error:
        fail(str(error))
    out_console.print(escape(str(comparison)), highlight=False)
