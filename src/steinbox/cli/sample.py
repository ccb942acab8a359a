"""``steinbox sample``: draw particles from a log-density in a Python file."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import steinbox as sb
from steinbox.cli.console import error_console, fail, report_written, show_result
from steinbox.cli.files import load_archive, parse_initial, require_result_path
from steinbox.cli.model import load_model
from steinbox.run.problem import DEFAULT_EVALS


class Method(StrEnum):
    """The methods by their names on the command line."""

    adaptive = "adaptive"
    annealed_gf_svgd = "annealed-gf-svgd"
    gf_svgd = "gf-svgd"
    annealed_svgd = "annealed-svgd"
    svgd = "svgd"
    smc = "smc"
    adaptive_metropolis = "adaptive-metropolis"
    kamh = "kamh"
    khmc = "khmc"


_METHODS: dict[Method, Callable[[], sb.Method[Any]]] = {
    Method.adaptive: sb.AdaptiveImportanceSampling,
    Method.annealed_gf_svgd: sb.AnnealedGFSVGD,
    Method.gf_svgd: sb.GFSVGD,
    Method.annealed_svgd: sb.AnnealedSVGD,
    Method.svgd: sb.SVGD,
    Method.smc: lambda: sb.baselines.SMC(),
    Method.adaptive_metropolis: lambda: sb.baselines.AdaptiveMetropolis(),
    Method.kamh: lambda: sb.baselines.KAMH(),
    Method.khmc: lambda: sb.baselines.KHMC(),
}


_EXIT_CODES = {sb.Status.INTERRUPTED: 130, sb.Status.TERMINATED: 143}  # 128 + SIGINT, 128 + SIGTERM, as shells say it


def sample(
    model: Annotated[str, typer.Argument(help="The log-density, or an sb.Model: path/to/model.py:name.")],
    initial: Annotated[
        str | None,
        typer.Option(
            help="Where to start: 'mean=0,0 std=3', or a file of particles (.npy, .csv). Default: the file's `initial`."
        ),
    ] = None,
    particles: Annotated[int | None, typer.Option(help="Number of particles (default 200).")] = None,
    max_evals: Annotated[int, typer.Option(help="Budget of evaluations.")] = DEFAULT_EVALS,
    max_seconds: Annotated[float | None, typer.Option(help="Stop in time, with what is there.")] = None,
    method: Annotated[Method, typer.Option(help="svgd and annealed-svgd need `score` in the file.")] = Method.adaptive,
    vectorized: Annotated[bool, typer.Option("--vectorized", help="The function takes all points at once.")] = False,
    workers: Annotated[int | None, typer.Option(help="Number of processes that evaluate.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which a call counts as failed.")] = None,
    retries: Annotated[int, typer.Option(help="How often a call that raises is repeated.")] = 0,
    max_failure_rate: Annotated[float, typer.Option(help="Stop when more of the last evaluations failed.")] = 0.2,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of a log-density that is estimated.")] = None,
    archive: Annotated[Path | None, typer.Option(help="An earlier result (.npz) whose evaluations to use.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the run in this file and continue from it; the default method can add evaluations."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the result (.npz).")] = Path("run.npz"),
    seed: Annotated[int | None, typer.Option(help="Fixes all randomness.")] = None,
    progress: Annotated[bool | None, typer.Option("--progress/--no-progress", help="Default: on a terminal.")] = None,
) -> None:
    """Draw particles from a log-density in a Python file.

    The file may also define `initial`, `names`, `bounds`, `score`, `fixed` and `by_name`; an sb.Model has its own names
    and bounds, and starts from its prior.
    """
    module, function = load_model(model)
    require_result_path(out)
    start = getattr(module, "initial", None) if initial is None else parse_initial(initial)
    is_model = isinstance(function, sb.Model)
    names, bounds = (None if is_model else getattr(module, name, None) for name in ("names", "bounds"))
    if start is None and bounds is None and not is_model:
        fail("no initial distribution: give --initial 'mean=0,0 std=3', or define `initial` or `bounds` in the file")
    result = _sample_or_exit(
        function,
        start,
        num_particles=particles,
        max_evals=max_evals,
        max_seconds=max_seconds,
        method=_METHODS[method](),
        vectorized=vectorized,
        score=getattr(module, "score", None),
        names=names,
        by_name=getattr(module, "by_name", False),
        fixed=getattr(module, "fixed", None),
        bounds=bounds,
        executor=workers,
        timeout=timeout,
        retries=retries,
        max_failure_rate=max_failure_rate,
        noise=noise,
        archive=None if archive is None else load_archive(archive),
        checkpoint=checkpoint,
        seed=seed,
        progress=progress,
    )
    result.save(out)
    show_result(result)
    report_written(out)
    if result.status in _EXIT_CODES:
        raise typer.Exit(_EXIT_CODES[result.status])


def _sample_or_exit(*arguments: Any, **settings: Any) -> sb.Result:
    """Call sample(); print an error it raises as one sentence, after the traceback of the user's function."""
    try:
        return sb.sample(*arguments, **settings)
    except sb.TargetError as error:
        for note in getattr(error, "__notes__", ()):
            error_console.print(note, markup=False, highlight=False, soft_wrap=True)
        fail(str(error))
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        fail(str(error).replace("give executor=", "give --workers ").replace("executor=2", "--workers 2"))
