"""The progress bar of a notebook: one output that is redrawn, and a line of words in the end."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from steinbox.run.loop import Callback, Iteration

_SECONDS_BETWEEN = 0.1  # two drawings of the bar: each is a message to the browser


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook; a terminal that runs IPython is none.

    Examples
    --------
    >>> in_notebook()
    False
    """
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return getattr(get_shell(), "kernel", None) is not None


@contextmanager
def notebook_bar() -> Iterator[Callback]:
    """A callback that draws the bar in the cell's output.

    It needs no widgets, of which a notebook that was saved and opened again shows nothing: what stays is a sentence.
    """
    display = import_module("IPython.display").display
    begin = last = time.monotonic()
    num_evals = 0
    handle = display(_bar(0.0, "sampling"), raw=True, display_id=True)

    def show(iteration: Iteration) -> None:
        nonlocal last, num_evals
        num_evals, now = iteration.num_evals, time.monotonic()
        if now - last >= _SECONDS_BETWEEN:
            handle.update(_bar(iteration.progress, _describe(iteration, now - begin)), raw=True)
            last = now

    try:
        yield show
    finally:
        text = f"{num_evals:,} evaluations, {format_seconds(time.monotonic() - begin)}"
        handle.update({"text/plain": text, "text/html": f"<small>{text}</small>"}, raw=True)


def describe_info(iteration: Iteration) -> str:
    """The parts of the iteration's information that fit on one line."""
    parts = [str(iteration.info["proposers"])] if "proposers" in iteration.info else []
    if "temperature" in iteration.info:
        parts.append(f"temperature {iteration.info['temperature']:.2f}")
    if "effective_sample_size" in iteration.info:
        parts.append(f"ess {iteration.info['effective_sample_size']:.0f}")
    return "  ".join(parts)


def format_seconds(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> format_seconds(0.31), format_seconds(42.4), format_seconds(3725)
    ('0.3 s', '42 s', '1:02:05')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _describe(iteration: Iteration, elapsed: float) -> str:
    left = elapsed * (1 / iteration.progress - 1) if iteration.progress > 0 else None
    words = [f"{iteration.num_evals:,} evaluations", describe_info(iteration)]
    return "  ".join([*filter(None, words), *([] if left is None else [f"at most {format_seconds(left)} left"])])


def _bar(progress: float, text: str) -> dict[str, Any]:
    bar = f'<progress value="{progress:.3f}" max="1" style="vertical-align: middle"></progress>'
    return {"text/plain": text, "text/html": f'{bar} <small style="white-space: pre">{html.escape(text)}</small>'}
