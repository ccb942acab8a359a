"""The tidy table of every experiment: one row per run, size, iteration and metric."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

import steinbox
from steinbox.common.arrays import Array

Seeds = Mapping[int, float]
"""One number per seed."""


@dataclass(frozen=True)
class Task:
    """One run: a method with a setting, its particles (or chains), its iterations and its seed."""

    method: str
    setting: str
    num_particles: int
    num_iterations: int
    seed: int


@dataclass(frozen=True)
class Row:
    """A metric of the first ``size`` particles of a run after so many iterations and evaluations.

    The first 20 of 100 chains represent a run of 20 chains, although their proposal was learned from all 100.
    ``seconds`` is the time of the run until then, without that of measuring.
    """

    method: str
    setting: str
    num_particles: int
    num_iterations: int
    seed: int
    size: int
    iteration: int
    evaluations: int
    metric: str
    value: float
    seconds: float
    version: str = steinbox.__version__

    @property
    def task(self) -> Task:
        """The run it belongs to."""
        return Task(self.method, self.setting, self.num_particles, self.num_iterations, self.seed)


_TYPES: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float}


class Table:
    """Rows, and how to select some of them."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read a CSV file; empty if there is none."""
        if not path.exists():
            return cls()
        readers = [_TYPES[str(field.type)] for field in fields(Row)]
        with path.open(newline="") as file:
            lines = csv.reader(file)
            if next(lines, None) != [field.name for field in fields(Row)]:
                raise ValueError(
                    f"{path} is not a table of this version: expected the columns of Row; move it away to start again"
                )
            return cls(Row(*(read(cell) for read, cell in zip(readers, line, strict=True))) for line in lines)

    def write(self, path: Path) -> None:
        """Write a CSV file, which is replaced at once: a killed process leaves the old one or the new one."""
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(field.name for field in fields(Row))
            writer.writerows([_format(cell) for cell in astuple(row)] for row in self)
        unfinished.replace(path)

    @property
    def tasks(self) -> set[Task]:
        """The runs that are in it."""
        return {row.task for row in self}

    def sort(self, tasks: Iterable[Task]) -> Table:
        """The rows of these runs, in their order; rows of others come last."""
        places = {task: place for place, task in enumerate(tasks)}
        return Table(sorted(self.rows, key=lambda row: places.get(row.task, len(places))))

    def where(self, **conditions: object) -> Table:
        """The rows with these values."""
        return Table(row for row in self if all(getattr(row, name) == value for name, value in conditions.items()))

    def last(self) -> Table:
        """Of each run and size, the rows after its last iteration."""
        ends: dict[tuple[Task, int], int] = {}
        for row in self:
            ends[row.task, row.size] = max(row.iteration, ends.get((row.task, row.size), 0))
        return Table(row for row in self if row.iteration == ends[row.task, row.size])

    def by_seed(self) -> Seeds:
        """One value per seed; the rows must differ in nothing else."""
        values = {row.seed: row.value for row in self}
        if len(values) != len(self):
            raise ValueError(f"{len(self)} rows for {len(values)} seeds: expected one row per seed")
        return values

    def curve(self, along: str) -> tuple[Array, list[Array]]:
        """Mean values of a column, and log10 of the metric of all seeds at each.

        Rows belong together that have the same size, or were measured at the same iteration of equally long runs.
        """
        groups: dict[tuple[int, ...], list[Row]] = {}
        for row in self:
            key = (row.size,) if along == "size" else (row.num_iterations, row.iteration)
            groups.setdefault(key, []).append(row)
        chosen = [groups[key] for key in sorted(groups)]
        places = np.array([np.mean([getattr(row, along) for row in group]) for group in chosen])
        return places, [np.log10([row.value for row in group]) for group in chosen]


def _format(cell: object) -> object:
    return f"{cell:.6g}" if isinstance(cell, float) else cell
