"""Files: written whole or not at all, never through a link that somebody left there, and read without being trusted."""

from __future__ import annotations

import io
import json
import os
import secrets
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.text import plain_tree

_MAX_RATIO = 100  # of arrays to the file that holds them; numbers that mean something are compressed by far less
_SMALL_BYTES = 2**28  # which arrays may take however small their file is


def real_path(path: str | Path) -> Path:
    """The absolute path behind links, so that writing there leaves these as they are."""
    return Path(os.path.realpath(Path(path).expanduser()))


def open_new(path: Path) -> IO[bytes]:
    """A new file to write to; what had its name, also a link, is removed."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def replace_file(path: str | Path, write: Callable[[Path], object]) -> None:
    """Write beside the place and then move there: a failure leaves what was there before, and a link stays one."""
    path = real_path(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write(partial)
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def save_arrays(path: str | Path, arrays: dict[str, Array]) -> None:
    """Write an ``.npz`` file that :func:`load_arrays` reads: compressed, unless that works too well to be believed."""

    def write(partial: Path) -> None:
        with open_new(partial) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
            if _is_too_large(sum(array.nbytes for array in arrays.values()), file.tell()):
                file.seek(0)
                file.truncate()
                np.savez(file, allow_pickle=False, **arrays)

    replace_file(path, write)


def load_arrays(source: str | Path | bytes) -> dict[str, Array]:
    """All arrays of an ``.npz`` file, or of its bytes, unless they take far more memory: then somebody made it so."""
    num_stored = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
    with zipfile.ZipFile(_file(source)) as archive:
        num_bytes = sum(member.file_size for member in archive.infolist())
    if _is_too_large(num_bytes, num_stored):
        raise ValueError(f"its {num_stored:,} bytes would take {num_bytes:,} in memory")
    with np.load(_file(source), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def _file(source: str | Path | bytes) -> Any:
    return io.BytesIO(source) if isinstance(source, bytes) else source


def _is_too_large(num_bytes: int, num_stored: int) -> bool:
    return num_bytes > max(_SMALL_BYTES, _MAX_RATIO * num_stored)


def header_of(arrays: dict[str, Array]) -> dict[str, Any]:
    r"""The JSON among the arrays, taken out of them; what would control a terminal is shown, and does nothing.

    Examples
    --------
    >>> header_of({"header": np.array(json.dumps({"names": ["mass", "red" + chr(27) + "[31m"]}))})
    {'names': ['mass', 'red\\x1b[31m']}
    """
    header: dict[str, Any] = plain_tree(json.loads(str(arrays.pop("header", "{}"))))
    return header
