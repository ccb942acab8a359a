"""An experiment and how it is run: finished runs are kept and not repeated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steinbox.paper.claims import Claim
from steinbox.paper.table import Row, Table, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SECONDS_BETWEEN_WRITES = 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """A figure of the paper: what is run, how it is drawn, and what is claimed about it.

    Parameters
    ----------
    name, title : str
    sizes : mapping
        Configurations by name: ``quick``, ``full`` and, for tests, ``miniature``. Each has ``num_seeds``.
    tasks : callable
        All runs of a configuration.
    measure : callable
        The rows of one run; it is called in a process of its own, with the configuration, the run and the folder.
    plot : callable
        The paper's figure, from the rows.
    claims : callable
        The claims of the paper about it, with what the rows show.
    more : mapping
        Further figures by name, each made from the rows.
    summary : callable
        A table of the final values of all methods, the header first; empty if there is none.
    prepare : callable
        Makes what must be in the folder before anything is measured.
    """

    name: str
    title: str
    sizes: Mapping[str, Any]
    tasks: Callable[[Any], list[Task]]
    measure: Callable[[Any, Task, Path], list[Row]]
    plot: Callable[[Table], Figure]
    claims: Callable[[Table], list[Claim]]
    more: Mapping[str, Callable[[Table], Figure]]
    summary: Callable[[Table], list[list[str]]] = lambda table: []
    prepare: Callable[[Any, Path, int], None] = lambda config, folder, num_jobs: None

    def table_path(self, folder: Path) -> Path:
        """Where the rows are kept."""
        return folder / f"{self.name}.csv"


def run(
    experiment: Experiment,
    config: Any,
    folder: Path,
    *,
    num_jobs: int = 1,
    advance: Callable[[int], object] = lambda num_tasks: None,
) -> Table:
    """All rows of the configuration: those in the folder, and the missing ones, which are added to it.

    After Ctrl-C or a kill, the folder has what was finished until a few seconds before, and the next call continues
    from there. ``advance`` is called with the number of runs just finished.
    """
    folder.mkdir(parents=True, exist_ok=True)
    experiment.prepare(config, folder, num_jobs)
    path, tasks = experiment.table_path(folder), experiment.tasks(config)
    table = Table.read(path)
    finished = table.tasks
    advance(sum(task in finished for task in tasks))
    remaining = [task for task in tasks if task not in finished]
    rows, written = list(table), time.monotonic()
    try:
        for new in _measure_tasks(experiment, config, remaining, folder, num_jobs):
            rows.extend(new)
            advance(1)
            if time.monotonic() - written > _SECONDS_BETWEEN_WRITES:
                Table(rows).sort(tasks).write(path)
                written = time.monotonic()
    finally:
        Table(rows).sort(tasks).write(path)
    wanted = set(tasks)
    return Table(row for row in Table.read(path) if row.task in wanted)


def _measure_tasks(
    experiment: Experiment, config: Any, tasks: Iterable[Task], folder: Path, num_jobs: int
) -> Iterator[list[Row]]:
    """The rows of the runs as they are finished, here or in other processes."""
    if num_jobs == 1:
        for task in tasks:
            yield experiment.measure(config, task, folder)
        return
    with _pool(num_jobs) as pool:
        try:
            futures = [pool.submit(experiment.measure, config, task, folder) for task in tasks]
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _pool(num_jobs: int) -> ProcessPoolExecutor:
    """Processes with one thread of linear algebra each: more threads would slow each other down."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    return ProcessPoolExecutor(num_jobs, mp_context=get_context("spawn"))
