"""The user's functions in another process: they are sent there once, under a token, not with every call."""

from __future__ import annotations

import io
import os
import pickle
import signal
import tempfile
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import IO

from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.faults import Fault

NEEDS_FUNCTION = "needs the function"
_MAX_INSTALLED = 2  # functions of different runs that one process keeps
_PARENT_CHECK_SECONDS = 1.0

_installed: OrderedDict[str, Calls] = OrderedDict()  # by token, the last one sent at the end


def install(token: str, payload: bytes) -> None:
    """Keep the user's functions in this process."""
    import cloudpickle

    _keep(token, cloudpickle.loads(payload))


def install_from_file(token: str, path: Path) -> None:
    """Keep the functions of a file, in a process that leaves Ctrl-C to its parent and exits with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(os.getppid(), path), daemon=True).start()
    with path.open("rb") as file:
        _keep(token, pickle.load(file))


def _exit_with_parent(parent: int, path: Path) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)
    path.unlink(missing_ok=True)
    os._exit(1)


def _keep(token: str, calls: Calls) -> None:
    _installed[token] = calls
    while len(_installed) > _MAX_INSTALLED:
        _installed.popitem(last=False)


def evaluate_remotely(token: str, payload: bytes | None, block: Block) -> Values | Fault | str:
    """Evaluate in this process, or answer that it needs the functions first."""
    if token not in _installed and payload is not None:
        install(token, payload)
    calls = _installed.get(token)
    return NEEDS_FUNCTION if calls is None else calls(block)


def serialize(calls: Calls) -> bytes:
    """The user's functions as bytes, lambdas and functions of ``__main__`` too."""
    buffer = io.BytesIO()
    _write(calls, buffer)
    return buffer.getvalue()


def serialize_to_file(calls: Calls) -> Path:
    """The same in a temporary file, without a copy of large data in memory."""
    with tempfile.NamedTemporaryFile(prefix="steinbox-", delete=False) as file:
        try:
            _write(calls, file)
        except BaseException:
            Path(file.name).unlink()
            raise
    return Path(file.name)


def _write(calls: Calls, file: IO[bytes]) -> None:
    try:
        import cloudpickle
    except ImportError:
        raise ImportError('evaluation in other processes needs cloudpickle: pip install "steinbox[parallel]"') from None
    try:
        cloudpickle.dump(calls, file)
    except OSError:
        raise
    except Exception as error:
        raise TypeError(
            f"log_prob cannot be sent to another process ({type(error).__name__}: {error}). Open files, locks and "
            "connections inside the function, or leave executor=None"
        ) from error
