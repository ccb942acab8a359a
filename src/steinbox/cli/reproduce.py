"""``steinbox reproduce``: the paper's figures and claims."""

from __future__ import annotations

import importlib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from steinbox.cli import options
from steinbox.cli.console import fail, report_written, say, show_json, show_table
from steinbox.cli.files import require_writable
from steinbox.run.progress import counting_bar


class Figure(StrEnum):
    """The paper's experiments by their names on the command line."""

    gaussian = "gaussian"
    gmm = "gmm"
    rbm = "rbm"
    gp_glass = "gp-glass"
    gp_susy = "gp-susy"
    gp_glass_laplace = "gp-glass-laplace"
    gp_susy_laplace = "gp-susy-laplace"
    all = "all"


def reproduce(
    figure: Annotated[Figure, typer.Argument(help="Which of the paper's figures: 1, 2, 3, 4(a), 4(b), or all.")],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's size (hours), or a small one (minutes).")
    ] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds. Default: set by the size.")] = None,
    burn_in: Annotated[
        int | None, typer.Option(min=1, help="Steps of KAMH and KHMC to discard as burn-in. Default: set by the size.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The output folder; what is finished there is not repeated.")] = Path(
        "reproduction"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel processes.")] = 1,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the paper's experiments.

    This draws its figures and checks its claims.
    """
    require_writable(out / "reproduction.html")
    try:  # here, since all commands load this file
        from steinbox.paper.datasets import DataNotFoundError
        from steinbox.paper.figures import EXPERIMENTS, IN_PAPER
        from steinbox.paper.reproduce import configure
        from steinbox.paper.reproduce import reproduce as run_all

        importlib.import_module("matplotlib")
    except ImportError as error:
        fail(f'{error}; pip install "steinbox[plot]"')
    figures = IN_PAPER if figure is Figure.all else (EXPERIMENTS[figure.value],)
    size = "full" if full else "quick"
    chosen = {each: configure(each, size, seeds, burn_in) for each in figures}
    given = {"--seeds": seeds, "--burn-in": burn_in}
    arguments = "".join(f" {name} {value}" for name, value in given.items() if value is not None)
    command = f"steinbox reproduce {figure.value} --{size}{arguments}"
    try:
        with counting_bar("runs", sum(len(each.tasks(config)) for each, config in chosen.items()), progress) as advance:
            done = run_all(chosen, out, command=command, num_jobs=jobs, advance=advance)
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is in {out}; the same command continues from there.", is_error=True)
        raise typer.Exit(130) from None
    except (DataNotFoundError, ValueError) as error:
        fail(str(error))
    verdicts = {each.experiment.title: [(claim.statement, claim.verdict) for claim in each.claims] for each in done}
    if as_json:
        show_json({title: dict(claims) for title, claims in verdicts.items()})
        return
    for title, claims in verdicts.items():
        show_table(title, ("claim", "verdict"), claims)
    report_written(out / "reproduction.html")
