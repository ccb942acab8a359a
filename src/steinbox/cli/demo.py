"""``steinbox demo``: particles of a banana-shaped density, a picture of them and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import steinbox as sb
from steinbox.cli import options
from steinbox.cli.console import report_written, say, show_result
from steinbox.cli.files import require_writable


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo-output"),
    seed: Annotated[int, typer.Option(help="Fixes all randomness.")] = 0,
    live: options.Live = False,
    progress: options.Progress = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
) -> None:
    """Sample a banana-shaped density.

    This uses its values alone, then draws a picture of the particles and writes a report.
    """
    require_writable(out / "result.npz")
    target = sb.targets.Banana()
    say("Target: a banana in two dimensions. steinbox sees only the values of its log-density.")
    result = sb.sample(
        target.log_prob,
        sb.Gaussian([0, 0], std=3),
        vectorized=True,
        names=["x", "y"],
        seed=seed,
        progress=progress,
        live=live,
    )
    show_result(result)
    exact = np.sqrt(np.diag(target.cov))
    say(f"The exact means are 0 and 0, the exact standard deviations {exact[0]:.3f} and {exact[1]:.3f}.")
    reference = target.sample(5000, np.random.default_rng(1))
    draws = target.sample(len(result.particles), np.random.default_rng(2))
    say(
        f"Distance to 5,000 exact draws (MMD): {sb.mmd(result.particles, reference):.3f}; "
        f"of {len(draws)} exact draws: {sb.mmd(draws, reference):.3f}."
    )
    report_written(result.save(out / "result.npz"))
    _draw_particles(result, target, out / "particles.png")
    _write_report(result, out / "report.html", open_page=open_page)


def _draw_particles(result: sb.Result, target: sb.targets.Banana, path: Path) -> None:
    try:
        from steinbox.plotting import corner

        corner(result, log_prob=target.log_prob).savefig(path, dpi=150)
    except ImportError:
        say('No picture: matplotlib is not installed (pip install "steinbox[plot]").')
        return
    report_written(path)


def _write_report(result: sb.Result, path: Path, *, open_page: bool) -> None:
    try:
        report_written(result.report(path))
    except ImportError as error:
        say(f"No report: {error}")
        return
    if open_page:
        typer.launch(path.resolve().as_uri())
        return
    say(f"Open {path} in a browser: it shows the run, and whether to trust it.")
