"""``steinbox sample``: draw particles from a log-density in a Python file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steinbox.cli import options
from steinbox.cli.config import given_options, method_settings
from steinbox.cli.files import load_archive, require_result_path, unused_path
from steinbox.cli.methods import Method
from steinbox.cli.running import finish, make_method, read_model, run_or_exit
from steinbox.run.problem import DEFAULT_EVALS


def sample(
    context: typer.Context,
    model: options.Model,
    initial: options.Initial = None,
    particles: Annotated[int | None, typer.Option(help="Number of particles (default 200).")] = None,
    max_evals: Annotated[int, typer.Option(help="Budget of evaluations.")] = DEFAULT_EVALS,
    max_seconds: options.MaxSeconds = None,
    method: Annotated[Method, typer.Option(help="svgd and annealed-svgd need `score` in the file.")] = Method.adaptive,
    vectorized: options.Vectorized = None,
    workers: options.Workers = None,
    asynchronous: options.Asynchronous = None,
    timeout: options.Timeout = None,
    retries: options.Retries = 0,
    max_failure_rate: options.MaxFailureRate = 0.2,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of the noise in the log-density.")] = None,
    archive: options.EarlierRun = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the run to this file, and resume from it if it exists; see `steinbox resume`."),
    ] = None,
    record: Annotated[
        int | None, typer.Option(help="Keep the particles of this many iterations, for the report.")
    ] = None,
    out: options.NewOut = None,
    seed: Annotated[int | None, typer.Option(help="Fixes all randomness.")] = None,
    config: options.Config = None,
    live: options.Live = False,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Draw particles from a log-density in a Python file.

    The file may also define `initial`, `names`, `bounds`, `score`, `vectorized`, `fixed`, `by_name`, `units` and
    `descriptions`; an sb.Model has its own names and bounds, and starts from its prior.
    """
    out = unused_path("run.npz") if out is None else out
    require_result_path(out)
    of_file = read_model(model, initial, vectorized)
    result = run_or_exit(
        **of_file,
        num_particles=particles,
        max_evals=max_evals,
        max_seconds=max_seconds,
        method=make_method(method, method_settings(context)),
        executor=workers,
        asynchronous=asynchronous,
        timeout=timeout,
        retries=retries,
        max_failure_rate=max_failure_rate,
        noise=noise,
        archive=None if archive is None else load_archive(archive),
        checkpoint=checkpoint,
        record=record,
        seed=seed,
        live=live,
        progress=progress,
    )
    finish(result, out, given_options(context), as_json=as_json)
