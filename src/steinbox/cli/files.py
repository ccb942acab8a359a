"""Files that the commands read and write."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import steinbox as sb
from steinbox.cli.console import fail
from steinbox.run.result_file import require_ending


def load_result(path: Path) -> sb.Result:
    """A saved result."""
    try:
        return sb.Result.load(path)
    except FileNotFoundError:
        fail(f"there is no file {path}")
    except ValueError as error:
        fail(str(error))


def load_archive(path: Path) -> sb.Archive:
    """The archive of a saved result, or one saved by itself."""
    try:
        return sb.Archive.load(path)
    except (FileNotFoundError, ValueError):
        return load_result(path).archive


def parse_initial(text: str) -> sb.Gaussian | np.ndarray[Any, Any]:
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
        fail(f"expected --initial 'mean=0,0 std=3' or a .npy, .csv or .txt file of particles, got {text!r}: {error}")


def unused_path(name: str) -> Path:
    """The file of this name in the current folder, or the first of name-2, name-3, … that does not exist."""
    path, number = Path(name), 2
    while path.exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}-{number}"), number + 1
    return path


def require_result_path(path: Path) -> None:
    """Make sure that a result can be written there, before anything is evaluated."""
    try:
        require_ending(path)
    except ValueError as error:
        fail(f"cannot write to {path}: {error}")
    require_writable(path)


def require_writable(path: Path) -> None:
    """Make sure that a file can be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        fail(f"cannot write to {path}: {error}")
