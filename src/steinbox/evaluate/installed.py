"""The user's functions in another process: they travel there once, under a token, not once a call."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import OrderedDict

from steinbox.evaluate.calls import Block, Calls, Values
from steinbox.evaluate.faults import Fault

NEEDS_FUNCTION = "needs the function"
_MOST_INSTALLED = 2

_installed: OrderedDict[str, Calls] = OrderedDict()  # what this process was sent; of the last few runs


def install(token: str, payload: bytes) -> None:
    """Keep the user's functions in this process."""
    import cloudpickle

    _installed[token] = cloudpickle.loads(payload)
    while len(_installed) > _MOST_INSTALLED:
        _installed.popitem(last=False)


def install_in_own_process(token: str, payload: bytes) -> None:
    """The same, in a process that leaves Ctrl-C to its parent, and ends when that does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    install(token, payload)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def evaluate_installed(token: str, payload: bytes | None, block: Block) -> Values | Fault | str:
    """Evaluate in this process, or say that it was not sent the functions."""
    if token not in _installed and payload is not None:
        install(token, payload)
    calls = _installed.get(token)
    return NEEDS_FUNCTION if calls is None else calls(block)


def payload_of(calls: Calls) -> bytes:
    """The user's functions as bytes, lambdas and functions of ``__main__`` too."""
    try:
        import cloudpickle
    except ImportError:
        raise ImportError('to evaluate in other processes: pip install "steinbox[parallel]"') from None
    try:
        payload: bytes = cloudpickle.dumps(calls)
        return payload
    except Exception as error:
        raise TypeError(
            f"log_prob cannot be sent to another process ({type(error).__name__}: {error}). Open files, locks and "
            "connections inside the function, or leave executor=None"
        ) from error
