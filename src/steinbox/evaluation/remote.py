"""The user's functions in another process: they are sent there once, under a token, not with every call."""

from __future__ import annotations

import functools
import io
import os
import pickle
import signal
import threading
import time
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from steinbox.evaluation.calls import Block, Calls, Values
from steinbox.evaluation.faults import Fault

NEEDS_FUNCTION = "needs the function"
_MAX_INSTALLED = 2  # functions of different runs that one process keeps
_PARENT_CHECK_SECONDS = 1.0

_installed: OrderedDict[str, Calls] = OrderedDict()  # by token, the last one sent at the end


def install(token: str, payload: bytes | Path) -> None:
    """Keep the user's functions, of these bytes or of a file, in this process."""
    import cloudpickle

    if isinstance(payload, bytes):
        _keep(token, cloudpickle.loads(payload))
        return
    with payload.open("rb") as file:
        _keep(token, pickle.load(file))


def belong_to(parent: int) -> None:
    """Make this process, as soon as it starts, leave Ctrl-C to its parent and exit with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(1)


def _keep(token: str, calls: Calls) -> None:
    _installed[token] = calls
    while len(_installed) > _MAX_INSTALLED:
        _installed.popitem(last=False)


def evaluate_remotely(token: str, payload: bytes | Path | None, block: Block) -> Values | Fault | str:
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


def serialize_to_file(calls: Calls, path: Path) -> None:
    """The same in a new file that only this user may read, without a copy of large data in memory."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        _write(calls, file)


def _write(calls: Calls, file: IO[bytes]) -> None:
    try:
        import cloudpickle
    except ImportError:
        raise ImportError('evaluation in other processes needs cloudpickle: pip install "steinbox[parallel]"') from None
    try:
        _pickler_class(cloudpickle)(file).dump(calls)
    except OSError:
        raise
    except Exception as error:
        raise TypeError(
            f"log_prob cannot be sent to another process ({type(error).__name__}: {error}). Open files, locks and "
            "connections inside the function, or leave executor=None"
        ) from error


def _pickler_class(cloudpickle: Any) -> Any:
    """The pickler of cloudpickle, which sends functions of ``__main__`` by value, extended to their cached helpers."""
    table = ChainMap({_CachedFunction: _reduce_cached}, cloudpickle.Pickler.dispatch_table)
    return type("Pickler", (cloudpickle.Pickler,), {"dispatch_table": table})


_CachedFunction = type(functools.cache(len))


def _reduce_cached(function: Any) -> str | tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function behind ``functools.cache`` by its name if it can be imported, and else by value, its cache empty."""
    if function.__module__ != "__main__" and "<locals>" not in function.__qualname__:
        return str(function.__qualname__)
    return _cache, (function.__wrapped__, function.cache_parameters())


def _cache(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)
