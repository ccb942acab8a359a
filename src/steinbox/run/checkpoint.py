"""A run on disk: written after its iterations, whole or not at all, and taken up again bit for bit."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.checks import require_number
from steinbox.common.packing import pack, unpack
from steinbox.evaluation import Account, Archive

try:
    import fcntl
except ImportError:  # no such locks on Windows: two runs on one checkpoint are then not kept apart
    fcntl = None  # type: ignore[assignment]

_MAGIC = b"steinbox checkpoint 1\n"
_SHARE_OF_TIME = 0.1


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: of another problem, damaged, or in use."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or only the one before it could be read."""


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run is kept.

    Parameters
    ----------
    path : str or Path
        Beside it, the checkpoint before it is kept as ``<path>.previous``.
    seconds : float
        At least so long between two writings; and so long that writing takes no more than a tenth of the time.

    Examples
    --------
    >>> Checkpoint("run.ckpt", seconds=60).seconds
    60
    """

    path: str | Path
    seconds: float = 0.0

    def __post_init__(self) -> None:
        require_number("seconds", self.seconds)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All that a run needs to go on: the problem it belongs to, and its state after an iteration."""

    problem: Mapping[str, Any]
    seed: int
    generator: Mapping[str, Any]
    account: Account
    archive: Archive
    state: Any
    trace: tuple[Mapping[str, float | str], ...]


class Journal:
    """The checkpoint of one run, held by it alone: ``with Journal(checkpoint) as journal``."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._path = Path(checkpoint.path).expanduser().absolute()
        self._seconds = checkpoint.seconds
        self._written, self._cost = -np.inf, 0.0
        self._last: Callable[[], Snapshot] | None = None
        self._is_good = False  # whether what stands at the path may take the place of the one before it
        self.warnings: list[str] = []
        self._lock: int | None = None

    @property
    def _previous(self) -> Path:
        return self._path.with_name(f"{self._path.name}.previous")

    @property
    def _partial(self) -> Path:
        return self._path.with_name(f"{self._path.name}.partial")

    @property
    def _lock_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.lock")

    def __enter__(self) -> Self:
        if not self._path.parent.is_dir():
            raise CheckpointError(f"there is no folder {self._path.parent} for the checkpoint")
        if self._path.is_dir():
            raise CheckpointError(f"expected the checkpoint to be a file, {self._path} is a folder")
        try:
            self._lock = _locked(self._lock_path) if fcntl is not None else None
        except OSError as error:
            raise CheckpointError(f"no checkpoint can be written to {self._path.parent}: {error}") from None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_let_go, weakref.ref(self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._partial.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock_path.unlink(missing_ok=True)
            os.close(self._lock)

    def load(self, allowed: tuple[str, ...]) -> Snapshot | None:
        """The last good snapshot, or nothing if there is none yet."""
        damages = []
        for path in (self._path, self._previous) if self._path.exists() else ():
            try:
                snapshot = _decode(path.read_bytes(), allowed)
            except FileNotFoundError:
                continue
            except _DamagedError as damage:
                damages.append(f"{path} {damage}")
                continue
            self._is_good = path == self._path
            if damages:
                self._warn(f"{damages[0]}; going on from the checkpoint before it.")
            return snapshot
        if damages:
            raise CheckpointError(f"{' and '.join(damages)}; delete {self._path.name} to start anew")
        return None

    def keep(self, take: Callable[[], Snapshot]) -> None:
        """Take a snapshot and write it, if it is time; :meth:`write_last` writes the last that was not."""
        self._last = take
        if time.monotonic() - self._written >= max(self._seconds, self._cost / _SHARE_OF_TIME):
            self.write_last()

    def write_last(self) -> None:
        """Write the last snapshot, if it was not; a disk that is full leaves the old one and the run intact."""
        if self._last is None:
            return
        start = time.monotonic()
        try:
            self._write(_encode(self._last()))
            self._last = None
        except OSError as error:
            self._warn(f"The checkpoint could not be written ({error}); the run goes on without it.")
        self._written = time.monotonic()
        self._cost = self._written - start

    def _write(self, content: bytes) -> None:
        with self._partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if self._is_good:
            _link(self._path, self._previous)
        self._partial.replace(self._path)
        self._is_good = True
        _sync_folder(self._path.parent)

    def _warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)
            warnings.warn(message, CheckpointWarning, stacklevel=4)


class NullJournal:
    """No checkpoint was asked for."""

    warnings: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing is held."""

    def load(self, allowed: tuple[str, ...]) -> None:
        """There is none."""

    def keep(self, take: Callable[[], Snapshot]) -> None:
        """Nothing is written."""

    def write_last(self) -> None:
        """Nothing is written."""


class _DamagedError(Exception):
    """Why a file is no checkpoint, said after its name."""


def _encode(snapshot: Snapshot) -> bytes:
    arrays: dict[str, Array] = {}
    header = {
        "problem": snapshot.problem,
        "seed": snapshot.seed,
        "generator": snapshot.generator,
        "account": pack(snapshot.account, arrays),
        "archive": pack(snapshot.archive, arrays),
        "state": pack(snapshot.state, arrays),
        "trace": pack(_columns(snapshot.trace), arrays),
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)
    content = buffer.getvalue()
    return _MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _decode(data: bytes, allowed: tuple[str, ...]) -> Snapshot:
    if not data.startswith(_MAGIC):
        of_ours = data.startswith(b"steinbox checkpoint ")
        raise _DamagedError("was written by another version of steinbox" if of_ours else "is not a checkpoint")
    checksum, _, content = data[len(_MAGIC) :].partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != checksum:
        raise _DamagedError("is damaged (its checksum is wrong)")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        account, archive, state, trace = (
            unpack(header[key], arrays, allowed) for key in ("account", "archive", "state", "trace")
        )
        if not (isinstance(account, Account) and isinstance(archive, Archive) and is_dataclass(state)):
            raise ValueError("it holds no state of a run")
        problem, seed, generator = dict(header["problem"]), int(header["seed"]), dict(header["generator"])
        return Snapshot(problem, seed, generator, account, archive, state, _rows(trace))
    except Exception as error:
        raise _DamagedError(f"cannot be read ({error})") from error


def _link(path: Path, other: Path) -> None:
    """Make the other name stand for the same file, so that neither is ever missing."""
    between = other.with_name(f"{other.name}.partial")
    between.unlink(missing_ok=True)
    try:
        between.hardlink_to(path)
    except OSError:  # a file system without links
        shutil.copyfile(path, between)
    between.replace(other)


def _let_go(journal: weakref.ref[Journal]) -> None:
    """In a forked process: the lock is the parent's, and must not outlive it."""
    held = journal()
    if held is not None and held._lock is not None:
        os.close(held._lock)
        held._lock = None


def _columns(trace: tuple[Mapping[str, float | str], ...]) -> dict[str, Array]:
    return {key: np.array([info[key] for info in trace]) for key in trace[0]}


def _rows(columns: Mapping[str, Array]) -> tuple[dict[str, float | str], ...]:
    values = [column.tolist() for column in columns.values()]
    return tuple(dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True))


def differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """What two descriptions of a problem disagree about, in words; empty if nothing."""
    return "; ".join(_differences(stored, json.loads(json.dumps(asked))))


def _differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[str]:
    for key in {**stored, **asked}:
        before, now = stored.get(key), asked.get(key)
        if isinstance(before, dict) and isinstance(now, dict) and before.get("name") == now.get("name"):
            yield from (f"{key}: {each}" for each in _differences(before, now))
        elif before != now:
            yield f"{key} was {before!r} and is {now!r}"


def _locked(path: Path) -> int:
    """A lock that the system gives back however the process ends."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            name = path.name.removesuffix(".lock")
            raise CheckpointError(f"another run uses the checkpoint {name}; wait for it, or name another") from None
        os.close(descriptor)  # the other run took the file away between our opening and locking it


def _sync_folder(folder: Path) -> None:
    """Make the new name as lasting as the file."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
