"""The command line: ``steinbox sample``, ``diagnose``, ``demo`` and ``reproduce``. A leaf: nothing imports it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
import traceback
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import steinbox as sb
from steinbox.paper.datasets import DataNotFoundError
from steinbox.sample import DEFAULT_EVALS
from steinbox.samplers import Sampler

app = typer.Typer(
    help="Particles from a distribution known only through the values of its log-density.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out, _err = Console(), Console(stderr=True)


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


_METHODS: dict[Method, Callable[[], Sampler]] = {
    Method.adaptive: sb.AdaptiveImportanceSampling,
    Method.annealed_gf_svgd: sb.AnnealedGFSVGD,
    Method.gf_svgd: sb.GFSVGD,
    Method.annealed_svgd: sb.AnnealedSVGD,
    Method.svgd: sb.SVGD,
    Method.smc: sb.baselines.SMC,
    Method.adaptive_metropolis: sb.baselines.AdaptiveMetropolis,
    Method.kamh: sb.baselines.KAMH,
    Method.khmc: sb.baselines.KHMC,
}


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    if version:
        _out.print(f"steinbox {sb.__version__}")
        raise typer.Exit


@app.command()
def sample(
    model: Annotated[str, typer.Argument(help="The log-density: path/to/model.py:function.")],
    initial: Annotated[
        str | None,
        typer.Option(
            help="Where to start: 'mean=0,0 std=3', or a file of particles (.npy, .csv). Default: the file's `initial`."
        ),
    ] = None,
    particles: Annotated[int | None, typer.Option(help="Number of particles (default 200).")] = None,
    max_evals: Annotated[int, typer.Option(help="Budget of evaluations.")] = DEFAULT_EVALS,
    method: Annotated[Method, typer.Option(help="svgd and annealed-svgd need `score` in the file.")] = Method.adaptive,
    vectorized: Annotated[bool, typer.Option("--vectorized", help="The function takes all points at once.")] = False,
    workers: Annotated[int | None, typer.Option(help="Evaluate in so many processes.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which a call counts as failed.")] = None,
    retries: Annotated[int, typer.Option(help="How often a call that raises is made again.")] = 0,
    max_failure_rate: Annotated[float, typer.Option(help="Stop when more of the last evaluations failed.")] = 0.2,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of a log-density that is estimated.")] = None,
    archive: Annotated[Path | None, typer.Option(help="An earlier result (.npz) whose evaluations to use.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the run in this file, and go on from there; the default also with more evaluations."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the result (.npz).")] = Path("run.npz"),
    seed: Annotated[int | None, typer.Option(help="Fixes all randomness.")] = None,
    progress: Annotated[bool | None, typer.Option("--progress/--no-progress", help="Default: on a terminal.")] = None,
) -> None:
    """Draw particles from a log-density in a Python file.

    The file may also define `initial`, `names`, `bounds` and `score`.
    """
    module, function = _load(model)
    _require_writable(out)
    start = getattr(module, "initial", None) if initial is None else _parse_initial(initial)
    bounds = getattr(module, "bounds", None)
    if start is None and bounds is None:
        _fail("no initial distribution: give --initial 'mean=0,0 std=3', or define `initial` or `bounds` in the file")
    result = _run(
        function,
        start,
        num_particles=particles,
        max_evals=max_evals,
        method=_METHODS[method](),
        vectorized=vectorized,
        score=getattr(module, "score", None),
        names=getattr(module, "names", None),
        bounds=bounds,
        executor=workers,
        timeout=timeout,
        retries=retries,
        max_failure_rate=max_failure_rate,
        noise=noise,
        archive=None if archive is None else _archive(archive),
        checkpoint=checkpoint,
        seed=seed,
        progress=progress,
    )
    result.save(out)
    _show(result)
    _wrote(out)
    if result.status is sb.Status.INTERRUPTED:
        raise typer.Exit(130)


@app.command()
def diagnose(run: Annotated[Path, typer.Argument(help="A result that `steinbox sample` wrote (.npz).")]) -> None:
    """Say how good a run's particles are, from the log-densities in its file: nothing is evaluated."""
    result = _loaded(run)
    try:
        diagnostics = result.diagnostics()
    except ValueError as error:
        _fail(str(error))
    _show(result)
    _out.print(escape(str(diagnostics)), highlight=False)


class Figure(StrEnum):
    """The paper's experiments by their names on the command line."""

    gaussian = "gaussian"
    gmm = "gmm"
    rbm = "rbm"
    gp_glass = "gp-glass"
    gp_susy = "gp-susy"
    all = "all"


@app.command()
def reproduce(
    figure: Annotated[Figure, typer.Argument(help="Which of the paper's figures: 1, 2, 3, 4(a), 4(b), or all.")],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's size (hours), or a small one (minutes).")
    ] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds; default: the size's own number.")] = None,
    burn_in: Annotated[
        int | None, typer.Option(min=1, help="Steps of KAMH and KHMC that are given away; default: the size's own.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder; what is finished there is not run again.")] = Path(
        "reproduction"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Processes side by side.")] = 1,
) -> None:
    """Run the paper's experiments, draw its figures, and check its claims."""
    _require_writable(out / "reproduction.html")
    try:
        from steinbox.paper.experiments import EXPERIMENTS
        from steinbox.paper.reproduce import configured
        from steinbox.paper.reproduce import reproduce as run_all

        importlib.import_module("matplotlib")
    except ImportError as error:
        _fail(f'{error}; pip install "steinbox[plot]"')
    names = EXPERIMENTS if figure is Figure.all else [figure.value]
    size = "full" if full else "quick"
    chosen = {EXPERIMENTS[name]: configured(EXPERIMENTS[name], size, seeds, burn_in) for name in names}
    given = {"--seeds": seeds, "--burn-in": burn_in}
    options = "".join(f" {name} {value}" for name, value in given.items() if value is not None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_err) as bar:
        line = bar.add_task("runs", total=sum(len(each.tasks(config)) for each, config in chosen.items()))
        try:
            done = run_all(
                chosen,
                out,
                command=f"steinbox reproduce {figure.value} --{size}{options}",
                num_jobs=jobs,
                advance=lambda count: bar.advance(line, count),
            )
        except KeyboardInterrupt:
            bar.stop()
            _err.print(f"Stopped. What is finished is in {out}; the same command goes on from there.")
            raise typer.Exit(130) from None
        except (DataNotFoundError, ValueError) as error:
            bar.stop()
            _fail(str(error))
    for each in done:
        table = Table("claim", "verdict", title=escape(each.experiment.title))
        for claim in each.claims:
            table.add_row(escape(claim.statement), escape(claim.verdict))
        _out.print(table)
    _wrote(out / "reproduction.html")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo-output"),
    seed: Annotated[int, typer.Option(help="Fixes all randomness.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show the bar.")] = True,
) -> None:
    """Sample a banana-shaped density from its values alone, and draw the particles over it."""
    _require_writable(out / "result.npz")
    target = sb.targets.Banana()
    _out.print("Target: a banana in two dimensions. steinbox sees only the values of its log-density.")
    result = sb.sample(
        target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, names=["x", "y"], seed=seed, progress=progress
    )
    _show(result)
    exact = np.sqrt(np.diag(target.cov))
    _out.print(f"The exact means are 0 and 0, the exact standard deviations {exact[0]:.3f} and {exact[1]:.3f}.")
    reference = target.sample(5000, np.random.default_rng(1))
    draws = target.sample(len(result.particles), np.random.default_rng(2))
    _out.print(
        f"Distance to 5,000 exact draws (MMD): {sb.mmd(result.particles, reference):.3f}; "
        f"of {len(draws)} exact draws: {sb.mmd(draws, reference):.3f}."
    )
    _wrote(result.save(out / "result.npz"))
    _draw(result, target, out / "particles.png")


def main() -> None:
    """The entry point of the ``steinbox`` command."""
    app()


def _run(*arguments: Any, **settings: Any) -> sb.Result:
    """Call sample(); what it refuses becomes one sentence, what the user's function raised its own traceback."""
    try:
        return sb.sample(*arguments, **settings)
    except sb.TargetError as error:
        for note in getattr(error, "__notes__", ()):
            _err.print(note, markup=False, highlight=False, soft_wrap=True)
        _fail(str(error))
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        _fail(str(error).replace("give executor=", "give --workers ").replace("executor=2", "--workers 2"))


def _loaded(path: Path) -> sb.Result:
    try:
        return sb.Result.load(path)
    except FileNotFoundError:
        _fail(f"there is no file {path}")
    except ValueError as error:
        _fail(str(error))


def _archive(path: Path) -> sb.Archive:
    """Of a saved result, or saved by itself."""
    try:
        return sb.Archive.load(path)
    except (FileNotFoundError, ValueError):
        return _loaded(path).archive


def _require_writable(path: Path) -> None:
    """Make sure that the result can be written, before anything is spent on it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        _fail(f"cannot write to {path}: {error}")


def _load(model: str) -> tuple[ModuleType, Any]:
    """The user's file as a module, and the function in it."""
    path_text, _, name = model.rpartition(":")
    path = Path(path_text)
    if not path_text or not name:
        _fail(f"expected path/to/model.py:function, got {model!r}")
    if not path.is_file():
        _fail(f"there is no file {path}")
    module = _execute(path)
    if not callable(getattr(module, name, None)):
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        _fail(f"{path} defines no function {name!r}; it has {', '.join(functions) or 'none'}")
    return module, getattr(module, name)


def _execute(path: Path) -> ModuleType:
    """Import the file under a name of its own; its folder can be imported from, and workers are sent its content."""
    name = f"steinbox_model_{path.stem.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        _fail(f"expected a Python file, got {path}")
    sys.path.insert(0, str(path.parent.resolve()))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        _show_user_traceback(error)
        _fail(f"{path} could not be loaded")
    if importlib.util.find_spec("cloudpickle"):
        import cloudpickle

        cloudpickle.register_pickle_by_value(module)
    return module


def _parse_initial(text: str) -> sb.Gaussian | np.ndarray[Any, Any]:
    """A Gaussian from 'mean=0,0 std=3', or particles from a file."""
    try:
        if text.endswith(".npy"):
            return np.asarray(np.load(text, allow_pickle=False))
        if text.endswith((".csv", ".txt")):
            return np.loadtxt(text, delimiter="," if text.endswith(".csv") else None, ndmin=2)
        parts = dict(part.partition("=")[::2] for part in text.split())
        if set(parts) != {"mean", "std"}:
            raise ValueError("it must have mean= and std=, and no spaces after commas")
        mean, std = ([float(number) for number in parts[key].split(",")] for key in ("mean", "std"))
        return sb.Gaussian(mean, std=std if len(std) > 1 else std[0])
    except (OSError, ValueError) as error:
        _fail(f"expected --initial 'mean=0,0 std=3' or a .npy, .csv or .txt file of particles, got {text!r}: {error}")


def _show(result: sb.Result) -> None:
    summary = result.summary()
    table = Table(title=escape(f"{len(result.particles)} particles, {result.num_evals:,} evaluations"))
    for k, column in enumerate(summary.columns):
        table.add_column(column, justify="left" if k == 0 else "right")
    for row in summary.rows:
        table.add_row(*map(escape, row))
    _out.print(table)
    _out.print(escape(str(result.status)), highlight=False)
    for warning in result.warnings:
        _out.print(escape(f"Warning: {warning}"), style="yellow", highlight=False)
    for kind, failure in result.failures.items():
        _out.print(escape(f"{failure.count:,} evaluations failed ({kind}); the first {failure}"), style="yellow")


def _draw(result: sb.Result, target: sb.targets.Banana, path: Path) -> None:
    try:
        from steinbox.plotting.particles import plot_particles

        plot_particles(result, log_prob=target.log_prob).savefig(path, dpi=150)
    except ImportError:
        _out.print('No picture: matplotlib is not installed (pip install "steinbox[plot]").', markup=False)
        return
    _wrote(path)


def _wrote(path: Path) -> None:
    _out.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def _show_user_traceback(error: BaseException) -> None:
    """The traceback from the user's first line on: what lies before is ours and says nothing to them."""
    ours = str(Path(sb.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen importlib"))]
    text = "".join(traceback.format_list(theirs)) + "".join(traceback.format_exception_only(error))
    _err.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)


def _fail(message: str) -> NoReturn:
    _err.print(f"Error: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1)
