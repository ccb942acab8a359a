"""A run that is looked at while it goes on: the page of its report, made from time to time if somebody looks."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import TracebackType
from typing import Any

from steinbox.common.arrays import default_errstate
from steinbox.evaluation import Account, Archive, Evaluator
from steinbox.report import render, render_waiting
from steinbox.report.server import PageServer
from steinbox.run.loop import RunState
from steinbox.run.notebook import in_notebook
from steinbox.run.report import collect
from steinbox.run.result import Result
from steinbox.samplers.base import Info

_SECONDS_BETWEEN = 1.0  # two moments, and two pages
_MAX_FRACTION = 0.1  # of the time, spent on making pages


@dataclass(frozen=True, eq=False)
class Moment:
    """A run after an iteration: all of it immutable, so that another thread can make a page of it."""

    run_state: RunState[Any]
    account: Account
    archive: Archive


class LiveView:
    """The page of a run, at ``url`` until the run ends.

    Parameters
    ----------
    evaluator : Evaluator
        Of the run: it says how far the run is, and stops it.
    make_result : callable
        What the run would return if it ended at a :class:`Moment`.
    """

    def __init__(self, evaluator: Evaluator, make_result: Callable[[Moment], Result]) -> None:
        self._evaluator, self._make_result = evaluator, make_result
        self._started = time.monotonic()
        self._moment: Moment | None = None
        self._moment_time = -_SECONDS_BETWEEN
        self._lock = threading.Lock()
        self._page, self._page_number, self._next_page_time = "", 0, 0.0
        self._page_moment: Moment | None = None
        render_waiting(0)  # to see now whether pages can be made
        self._server = PageServer(self)
        self.url = self._server.url

    # -- called by the run ---------------------------------------------------------------------------------------------

    def keep(self, run_state: RunState[Any]) -> None:
        """Take note of an iteration, about once a second."""
        now = time.monotonic()
        if self._moment is None or now - self._moment_time >= _SECONDS_BETWEEN:
            trace: Sequence[Info] = tuple(run_state.trace)
            frozen = RunState(run_state.state, trace, run_state.record)
            self._moment = Moment(frozen, self._evaluator.account, self._evaluator.archive)
            self._moment_time = now

    def end(self, result: Result) -> None:
        """Show the result to all who look, and close; a Ctrl-C here shortens it, and costs nothing else."""
        with suppress(KeyboardInterrupt):
            page = _try_to_render(result) if self._server.is_watched else None
            self._server.close({"words": str(result.status), "page": page})

    def close_on_error(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close if the run raised instead of returning: what a context manager is left by."""
        if error is not None:
            words = f"It raised {kind.__name__ if kind else 'an error'} and has no result: see where it was started."
            self._server.close({"words": words, "page": None})

    # -- called by the server's threads --------------------------------------------------------------------------------

    def make_page(self) -> str:
        """The page of the last moment, or the page before if that was made just now."""
        if self._moment is None:
            return render_waiting(self._evaluator.num_made)
        with self._lock:
            if self._is_page_due:
                begin = time.monotonic()
                self._page_moment = self._moment
                with default_errstate():
                    self._page = render(collect(self._make_result(self._page_moment)))
                self._page_number += 1
                spent = time.monotonic() - begin
                self._next_page_time = begin + max(_SECONDS_BETWEEN, spent / _MAX_FRACTION)
            return self._page

    def tick(self) -> dict[str, object]:
        """How far the run is, and the number of the page that it would be shown now."""
        return {
            "page": self._page_number + self._is_page_due,
            "num_evals": self._evaluator.num_made,
            "max_evals": self._evaluator.max_evals,
            "seconds": round(time.monotonic() - self._started, 1),
            "is_stopping": self._evaluator.is_stopped,
        }

    def stop(self) -> bool:
        """End the run with what it has; there is nothing before the first iteration."""
        if self._moment is None:
            return False
        self._evaluator.stop()
        return True

    @property
    def _is_page_due(self) -> bool:
        return self._moment is not self._page_moment and time.monotonic() >= self._next_page_time


def announce(url: str) -> None:
    """Say where the live view is, where a person sees it."""
    if in_notebook():
        link = html.escape(url)
        content = {"text/plain": f"Live view: {url}", "text/html": f'Live view: <a href="{link}">{link}</a>'}
        import_module("IPython.display").display(content, raw=True)
    else:
        print(f"Live view: {url}", file=sys.stderr, flush=True)


def _try_to_render(result: Result) -> str | None:
    """The result's report; nothing that happens here may cost the result."""
    try:
        return render(collect(result))
    except Exception:
        return None
