"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steinbox.cli.config import read_config

Model = Annotated[str, typer.Argument(help="The log-density, or an sb.Model: path/to/model.py:name.")]
Run = Annotated[Path, typer.Argument(help="A result that `steinbox sample` wrote (.npz).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
Progress = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="A progress bar. Default: on a terminal.")
]

# -- of commands that evaluate -----------------------------------------------------------------------------------------

Config = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file of these options, with a table `settings` for the method. The command line takes precedence.",
        callback=read_config,
        is_eager=True,
    ),
]
Initial = Annotated[
    str | None,
    typer.Option(
        help="Where to start: 'mean=0,0 std=3', or a file of particles (.npy, .csv). Default: the file's `initial`."
    ),
]
MaxSeconds = Annotated[float | None, typer.Option(help="Stop after this time, with the result so far.")]
Vectorized = Annotated[
    bool | None,
    typer.Option("--vectorized", help="The function takes all points at once. Default: the file's `vectorized`."),
]
Workers = Annotated[int | None, typer.Option(help="Number of processes that evaluate the function.")]
Asynchronous = Annotated[
    bool | None,
    typer.Option(
        "--asynchronous/--in-batches",
        help="Whether workers continue without waiting for whole batches. Default: from 16 workers on.",
    ),
]
Timeout = Annotated[float | None, typer.Option(help="Seconds after which a call counts as failed.")]
Retries = Annotated[int, typer.Option(help="How often to repeat a call that raises.")]
MaxFailureRate = Annotated[float, typer.Option(help="Stop if more than this share of the last evaluations failed.")]
EarlierRun = Annotated[Path | None, typer.Option(help="An earlier result (.npz) whose evaluations are reused.")]
Out = Annotated[Path, typer.Option(help="Where to write the result (.npz).")]
NewOut = Annotated[
    Path | None, typer.Option(help="Where to write the result (.npz). [default: run.npz, or run-2.npz if that exists]")
]
Live = Annotated[bool, typer.Option("--live", help="Serve a page that shows the run, and print its address.")]
