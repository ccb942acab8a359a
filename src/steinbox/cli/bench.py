"""``steinbox bench``: how accurate a method is on this machine, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import typer

import steinbox as sb
from steinbox.cli import options
from steinbox.cli.console import show_json, show_table
from steinbox.cli.methods import Method
from steinbox.run.progress import counting_bar

_TARGETS: dict[str, Callable[[], Any]] = {
    "Gaussian, 2-D": lambda: sb.Gaussian([1.0, -1.0], std=[1.0, 0.5]),
    "banana, 2-D": lambda: sb.targets.Banana(),
    "ring, 2-D": lambda: sb.targets.Ring(),
    "Student t, 8-D": lambda: sb.targets.StudentT(8),
    "funnel, 10-D": lambda: sb.targets.Funnel(10),
    "two modes, 10-D": lambda: sb.targets.separated_modes(10),
    "AR(1), 30-D": lambda: sb.targets.autoregressive(30),
}
_NUM_REFERENCE = 5000  # exact draws that the particles are compared with
_START_STD = 3.0


def bench(
    method: Annotated[Method, typer.Option(help="The method.")] = Method.adaptive,
    max_evals: Annotated[int, typer.Option(help="Budget of evaluations per run.")] = 5000,
    particles: Annotated[int, typer.Option(help="Number of particles.")] = 200,
    seeds: Annotated[int, typer.Option(help="Number of runs on each target.")] = 1,
    progress: options.Progress = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure the accuracy of a method.

    It samples targets that have exact draws. The table shows the maximum mean discrepancy (MMD) from 5,000 exact draws,
    for the particles and for as many exact draws. Seconds are processor time of the whole run; these densities cost
    next to nothing.
    """
    rows = []
    with counting_bar("runs", len(_TARGETS) * seeds, progress) as advance:
        for row in _measure(method, max_evals, particles, seeds):
            rows.append(row)
            advance(1)
    if as_json:
        show_json(rows)
        return
    show_table(
        f"{method.value}, {max_evals:,} evaluations, {particles} particles",
        ("target", "MMD", "exact draws", "evaluations", "seconds", "warned"),
        map(_cells, rows),
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = f"{row['mmd']:.3f}", f"{row['exact']:.3f}", f"{row['num_evals']:,}", f"{row['seconds']:.1f}"
    return row["target"], *numbers, "yes" if row["is_warned"] else ""


def _measure(method: Method, max_evals: int, num_particles: int, num_seeds: int) -> Iterator[dict[str, Any]]:
    """A row for every run."""
    for name, make in _TARGETS.items():
        target = make()
        reference = target.sample(_NUM_REFERENCE, np.random.default_rng(1))
        exact = sb.mmd(target.sample(num_particles, np.random.default_rng(2)), reference)
        for seed in range(num_seeds):
            start = time.process_time()
            result = sb.sample(
                target.log_prob,
                sb.Gaussian(np.zeros(reference.shape[1]), std=_START_STD),
                method=method.make(),
                score=target.score,
                vectorized=True,
                num_particles=num_particles,
                max_evals=max_evals,
                progress=False,
                seed=seed,
            )
            yield {
                "target": name,
                "seed": seed,
                "mmd": sb.mmd(result.particles[result.weights > 0], reference),
                "exact": exact,
                "num_evals": result.num_evals,
                "seconds": time.process_time() - start,
                "is_warned": len(result.warnings) > 0,
            }
