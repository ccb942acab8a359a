"""The user's functions in another process: they travel there once, under a token, not once a call."""

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
_MOST_INSTALLED = 2

_installed: OrderedDict[str, Calls] = OrderedDict()  # what this process was sent; of the last few runs


def install(token: str, payload: bytes) -> None:
    """Keep the user's functions in this process."""
    import cloudpickle

    _keep(token, cloudpickle.loads(payload))


def install_in_own_process(token: str, path: Path) -> None:
    """The same from a file, in a process that leaves Ctrl-C to its parent, and ends when that does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(), path), daemon=True).start()
    with path.open("rb") as file:
        _keep(token, pickle.load(file))


def _end_with(parent: int, path: Path) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    path.unlink(missing_ok=True)
    os._exit(1)


def _keep(token: str, calls: Calls) -> None:
    _installed[token] = calls
    while len(_installed) > _MOST_INSTALLED:
        _installed.popitem(last=False)


def evaluate_installed(token: str, payload: bytes | None, block: Block) -> Values | Fault | str:
    """Evaluate in this process, or say that it was not sent the functions."""
    if token not in _installed and payload is not None:
        install(token, payload)
    calls = _installed.get(token)
    return NEEDS_FUNCTION if calls is None else calls(block)


def payload_of(calls: Calls) -> bytes:
    """The user's functions as bytes, lambdas and functions of ``__main__`` too."""
    buffer = io.BytesIO()
    _write(calls, buffer)
    return buffer.getvalue()


def payload_file(calls: Calls) -> Path:
    """The same in a temporary file, which large data reaches without a copy."""
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
        raise ImportError('to evaluate in other processes: pip install "steinbox[parallel]"') from None
    try:
        cloudpickle.dump(calls, file)
    except OSError:
        raise
    except Exception as error:
        raise TypeError(
            f"log_prob cannot be sent to another process ({type(error).__name__}: {error}). Open files, locks and "
            "connections inside the function, or leave executor=None"
        ) from error
