"""A run on disk: written after its iterations, whole or not at all, and locked while the run uses it."""

from __future__ import annotations

import logging
import os
import shutil
import time
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from steinbox.common.checks import require_number
from steinbox.common.files import open_new, real_path
from steinbox.common.serialization import SerializationError
from steinbox.run.snapshot import Snapshot, UnreadableError, decode, encode

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, two runs on one checkpoint are not kept apart
    fcntl = None  # type: ignore[assignment]

_LOGGER = logging.getLogger("steinbox")
MAX_WRITING_FRACTION = 0.1  # of a run's time, spent on writing checkpoints
_SECONDS_BETWEEN_VALUES = 5.0  # at least, between two checkpoints of one batch


class CheckpointError(ValueError):
    """A checkpoint that cannot be used: of another problem, damaged, or in use."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or only the previous one could be read."""


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run is saved.

    Parameters
    ----------
    path : str or Path
        Beside it, the previous checkpoint is kept as ``<path>.previous``.
    seconds : float
        The shortest time between two checkpoints; it is longer where writing would take more than a tenth of the time.

    Examples
    --------
    >>> Checkpoint("run.ckpt", seconds=60).seconds
    60
    """

    path: str | Path
    seconds: float = 0.0

    def __post_init__(self) -> None:
        require_number("seconds", self.seconds)


class Journal:
    """The checkpoint of one run, which alone may use it: ``with Journal(checkpoint) as journal``."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._path = real_path(checkpoint.path)
        self._seconds = checkpoint.seconds
        self._last_write, self._last_look, self._write_seconds = -np.inf, -np.inf, 0.0
        self._take: Callable[[], Snapshot] | None = None
        self._is_written = True
        self._is_good = False  # whether the file at the path may become the previous checkpoint
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
        try:
            if not self._path.parent.is_dir():
                raise CheckpointError(f"there is no folder {self._path.parent} for the checkpoint")
            if self._path.is_dir():
                raise CheckpointError(f"expected the checkpoint to be a file, but {self._path} is a folder")
            self._lock = _acquire_lock(self._lock_path) if fcntl is not None else None
            for path in (_between(self._previous), self._partial):  # to see now what could not be written later
                open_new(path).close()
                path.unlink()
        except OSError as error:
            self._release_lock()
            raise CheckpointError(f"no checkpoint can be written to {self._path.parent}: {error}") from None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_close_lock_in_child, weakref.ref(self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._partial.unlink(missing_ok=True)
        self._release_lock()

    def _release_lock(self) -> None:
        """Whatever became of its file, which may have been moved or made read-only since."""
        if self._lock is None:
            return
        with suppress(OSError):
            self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None

    def load(self) -> Snapshot | None:
        """The last good snapshot, or None if there is none yet."""
        problems = []
        for path in (self._path, self._previous) if self._path.exists() else ():
            try:
                snapshot = decode(path.read_bytes())
            except FileNotFoundError:
                continue
            except SerializationError as error:  # it is intact: no reason to fall back on the previous one
                raise CheckpointError(f"{path} cannot be resumed here: {error}") from error
            except UnreadableError as error:
                problems.append(f"{path} {error}")
                continue
            self._is_good = path == self._path
            if problems:
                self._warn(f"{problems[0]}; resuming from the previous checkpoint.")
            return snapshot
        if problems:
            raise CheckpointError(f"{' and '.join(problems)}; delete {self._path.name} to start over")
        return None

    def begin(self, take: Callable[[], Snapshot]) -> None:
        """Take note of where the run begins, or goes on: there is nothing to write before a value comes back."""
        self._take, self._last_look = take, time.monotonic()

    def keep(self, take: Callable[[], Snapshot]) -> None:
        """Take a snapshot and write it if it is time; if not, :meth:`write_last` can still write it."""
        self._take, self._is_written = take, False
        if time.monotonic() - self._last_write >= self._pause:
            self.write_last()

    def note_values(self) -> None:
        """Values came back that the last snapshot does not hold: write them with it if it is time."""
        self._is_written = False
        if time.monotonic() - self._last_look >= max(self._pause, _SECONDS_BETWEEN_VALUES):
            self.write_last()

    @property
    def _pause(self) -> float:
        return max(self._seconds, self._write_seconds / MAX_WRITING_FRACTION)

    def write_last(self) -> None:
        """Write the last snapshot unless it is written; if that fails, the old file and the run stay intact."""
        if self._take is None or self._is_written:
            return
        start = time.monotonic()
        try:
            self._write(encode(self._take()))
            self._is_written = True
            _LOGGER.info("checkpoint written to %s", self._path)
        except Exception as error:
            self._warn(f"The checkpoint could not be written ({error}); the run continues without it.")
        self._last_write = self._last_look = time.monotonic()
        self._write_seconds = self._last_write - start

    def _write(self, content: bytes) -> None:
        with open_new(self._partial) as file:
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


def _acquire_lock(path: Path) -> int:
    """A lock that the system releases however the process ends."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            name = path.name.removesuffix(".lock")
            raise CheckpointError(
                f"another run is using the checkpoint {name}; wait for it, or use another file"
            ) from None
        os.close(descriptor)  # the other run removed the file after we opened it and before we locked it


def _close_lock_in_child(journal: weakref.ref[Journal]) -> None:
    """In a forked process: the lock is the parent's, and must not outlive it."""
    held = journal()
    if held is not None and held._lock is not None:
        os.close(held._lock)
        held._lock = None


def _link(path: Path, other: Path) -> None:
    """Make the other name stand for the same file, so that neither is ever missing."""
    between = _between(other)
    between.unlink(missing_ok=True)
    try:
        between.hardlink_to(path)
    except OSError:  # a file system without links
        shutil.copyfile(path, between)
    between.replace(other)


def _between(other: Path) -> Path:
    return other.with_name(f"{other.name}.partial")


def _sync_folder(folder: Path) -> None:
    """Make the new name as durable as the file."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
