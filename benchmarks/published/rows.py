"""The measured rows by case, method and budget, and the printed ones."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

LEVEL = 0.9  # of the interval of a median, at least
Row = dict[str, str]


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one case with one budget: the rows of those that ended, and why others did not."""

    rows: tuple[Row, ...]
    failures: tuple[str, ...]

    def values(self, measure: str) -> np.ndarray:
        """Of each run; the error of log Z by its size."""
        values = np.array([float(row[measure]) for row in self.rows])
        return np.abs(values) if measure == "log_z_error" else values

    def median(self, measure: str) -> float:
        return float(np.median(self.values(measure))) if self.rows else np.nan


Key = tuple[str, str, int]  # case, method, budget
Cells = dict[Key, Cell]


def read(path: Path) -> list[Row]:
    """The rows of a file, none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def cells_of(rows: Sequence[Row]) -> Cells:
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["case"], row["method"], int(row["budget"])].append(row)
    return {
        key: Cell(tuple(row for row in some if not row["error"]), tuple(row["error"] for row in some if row["error"]))
        for key, some in groups.items()
    }


def median_interval(values: np.ndarray) -> tuple[float, float]:
    """Order statistics that hold the median with probability 90% at least, whatever the distribution.

    The k-th smallest and the k-th largest of n do with probability 1 − 2 P(B < k), B binomial(n, ½). Of fewer than five
    values all, which do with less.
    """
    ordered = np.sort(values)
    k = max(int(stats.binom.ppf((1 - LEVEL) / 2, len(ordered), 0.5)), 1)
    return float(ordered[k - 1]), float(ordered[-k])
