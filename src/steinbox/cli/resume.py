"""``steinbox resume``: go on with a run from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import steinbox as sb
from steinbox.cli import options
from steinbox.cli.config import given_options, method_settings, nearest
from steinbox.cli.console import fail
from steinbox.cli.files import load_archive, require_result_path
from steinbox.cli.methods import Method
from steinbox.cli.running import finish, make_method, read_model, run_or_exit
from steinbox.run.problem import describe
from steinbox.run.resume import open_journal
from steinbox.run.snapshot import Snapshot


def resume(
    context: typer.Context,
    checkpoint: Annotated[Path, typer.Argument(help="A file that `steinbox sample --checkpoint` wrote.")],
    model: options.Model,
    max_evals: Annotated[
        int | None, typer.Option(help="A larger budget, counted from the start; the default method can use it.")
    ] = None,
    initial: options.Initial = None,
    max_seconds: options.MaxSeconds = None,
    vectorized: options.Vectorized = None,
    workers: options.Workers = None,
    timeout: options.Timeout = None,
    retries: options.Retries = 0,
    max_failure_rate: options.MaxFailureRate = 0.2,
    archive: options.EarlierRun = None,
    out: options.Out = Path("run.npz"),
    config: options.Config = None,
    live: options.Live = False,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Continue a run from its checkpoint.

    It ends as if it had not been interrupted, bit for bit, or continues with a larger budget. Method, particles, seed,
    noise and budget are those of the checkpoint; the log-density and its start are not in it, and must be the same.
    """
    stored = _load(checkpoint)
    method = _find_method(stored)
    require_result_path(out)
    of_file = read_model(model, initial, vectorized)
    result = run_or_exit(
        **of_file,
        num_particles=stored.problem["num_particles"],
        max_evals=stored.problem["max_evals"] if max_evals is None else max_evals,
        max_seconds=max_seconds,
        method=make_method(method, _plain_settings(stored, method) | method_settings(context)),
        executor=workers,
        timeout=timeout,
        retries=retries,
        max_failure_rate=max_failure_rate,
        noise=_noise(stored),
        archive=None if archive is None else load_archive(archive),
        checkpoint=checkpoint,
        seed=stored.seed,
        live=live,
        progress=progress,
    )
    finish(result, out, given_options(context), as_json=as_json)


def _load(path: Path) -> Snapshot:
    """What is in the checkpoint."""
    if not path.is_file():
        fail(f"there is no checkpoint {path}; `steinbox sample --checkpoint {path}` creates one")
    try:
        with open_journal(path) as journal:
            stored = journal.load()
    except sb.CheckpointError as error:
        fail(str(error))
    assert stored is not None
    return stored


def _find_method(stored: Snapshot) -> Method:
    name = str(stored.problem["method"])
    names = {type(each.make()).__name__: each for each in Method}
    if name not in names:
        fail(f"the checkpoint was written by a method that this command does not know, {name!r}{nearest(name, names)}")
    return names[name]


def _plain_settings(stored: Snapshot, method: Method) -> dict[str, Any]:
    """Numbers, texts, true and false that are not the method's defaults; other settings can only be compared."""
    defaults = describe(method.make())
    given = {name: value for name, value in stored.problem["settings"].items() if value != defaults.get(name)}
    return {name: value for name, value in given.items() if isinstance(value, (bool, int, float, str))}


def _noise(stored: Snapshot) -> float | bool | sb.Noise | None:
    """As ``noise=`` takes it."""
    noise = stored.problem["noise"]
    if not stored.problem.get("is_unbiased"):
        return noise or None
    return sb.Noise(None if noise is True else noise, is_unbiased=True)
