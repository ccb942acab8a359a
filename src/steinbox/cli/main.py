"""The ``steinbox`` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

import steinbox as sb
from steinbox.cli.bench import bench
from steinbox.cli.console import say
from steinbox.cli.demo import demo
from steinbox.cli.look import compare, diagnose, plot, report, summary
from steinbox.cli.reproduce import reproduce
from steinbox.cli.resume import resume
from steinbox.cli.sample import sample

app = typer.Typer(
    help="Particles from a distribution known only through the values of its log-density.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes around the help would take a tenth of a second
)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    if version:
        say(f"steinbox {sb.__version__}")
        raise typer.Exit


for _command in (sample, resume, summary, diagnose, report, plot, compare, demo, bench, reproduce):
    app.command()(_command)


def main() -> None:
    """The entry point of the ``steinbox`` command."""
    app()
