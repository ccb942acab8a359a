"""Run experiments, draw their figures, check their claims, and put all of it on one page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steinbox.paper.claims import Claim
from steinbox.paper.experiment import Experiment, run
from steinbox.paper.page import write_page
from steinbox.paper.table import Table


@dataclass(frozen=True, eq=False)
class Reproduction:
    """An experiment that was run: its rows, its claims, and its figures by title."""

    experiment: Experiment
    table: Table
    claims: list[Claim]
    figures: dict[str, Path]


def configure(experiment: Experiment, size: str, num_seeds: int | None = None, burn_in: int | None = None) -> Any:
    """The configuration of this size; with another number of seeds, or another burn-in of its chains, if given."""
    config = experiment.sizes[size]
    given = {"num_seeds": num_seeds, "burn_in": burn_in}
    return replace(config, **{name: value for name, value in given.items() if value and hasattr(config, name)})


def reproduce(
    experiments: Mapping[Experiment, Any],
    folder: Path,
    *,
    command: str,
    num_jobs: int = 1,
    advance: Callable[[int], object] = lambda num_tasks: None,
) -> list[Reproduction]:
    """Run experiments with their configurations; write tables, figures and ``reproduction.html`` to the folder."""
    done = []
    for experiment, config in experiments.items():
        table = run(experiment, config, folder, num_jobs=num_jobs, advance=advance)
        done.append(draw(experiment, table, folder))
        write_page(folder / "reproduction.html", done, command)
    return done


def draw(experiment: Experiment, table: Table, folder: Path) -> Reproduction:
    """Write the figures of the rows to the folder, and check the claims."""
    figures = {}
    for title, plot in {"": experiment.plot, **experiment.more}.items():
        path = folder / f"{experiment.name}{'-' if title else ''}{title}.png"
        plot(table).savefig(path, dpi=110)
        figures[title] = path
    return Reproduction(experiment, table, experiment.claims(table), figures)
