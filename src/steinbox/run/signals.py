"""Signals that end a run as Ctrl-C does: what schedulers, closing terminals and shutdowns send before they kill."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Terminated(KeyboardInterrupt):
    """A signal asked this process to end; raised where Ctrl-C would be."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Raise :class:`Terminated` in here when SIGTERM or SIGHUP comes; once, since the first is being obeyed.

    Only signals that would kill the process are caught: a handler of the user's stays, and so does a SIGHUP that
    ``nohup`` ignores. Only the main thread can do it; elsewhere nothing changes. A run that had nothing to return yet
    ends here: then everything is released, and the process gets the signal again, as if nobody had caught it.
    """
    caught = _deadly_signals() if threading.current_thread() is threading.main_thread() else []

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in caught:
            signal.signal(each, signal.SIG_IGN)
        raise Terminated(number)

    for each in caught:
        signal.signal(each, interrupt)
    pending: Terminated | None = None
    try:
        yield
    except Terminated as stop:
        pending = stop
        raise
    finally:
        for each in caught:
            signal.signal(each, signal.SIG_DFL)
        if pending is not None:
            signal.raise_signal(pending.number)


def _deadly_signals() -> list[signal.Signals]:
    numbers = [signal.Signals[name] for name in _NAMES if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
