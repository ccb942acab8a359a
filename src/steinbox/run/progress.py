"""The progress bar: evaluations, temperature, effective sample size, time left; in a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from steinbox.common.text import plain
from steinbox.run.loop import Callback, Iteration
from steinbox.run.notebook import describe_info, in_notebook, notebook_bar

if TYPE_CHECKING:
    from rich.progress import Progress


def wants_progress(asked: bool | None) -> bool:
    """Whether to show a bar: as asked, or if somebody is looking."""
    return (sys.stderr.isatty() or in_notebook()) if asked is None else asked


def progress_bar() -> AbstractContextManager[Callback]:
    """A callback that draws the bar where it is seen."""
    return notebook_bar() if in_notebook() else _terminal_bar()


@contextmanager
def counting_bar(things: str, number: int, asked: bool | None = None) -> Iterator[Callable[[int], None]]:
    """A function to be told how many more of these things are done; it draws the bar if that is wanted."""
    if not wants_progress(asked):
        yield lambda count: None
        return
    with _terminal_progress(f"of {number:,} {things}") as bar:
        task, num_done = bar.add_task(things, total=number, count="0", details=""), 0

        def advance(count: int) -> None:
            nonlocal num_done
            num_done += count
            bar.update(task, completed=num_done, count=f"{num_done:,}")

        yield advance


def _terminal_progress(unit: str) -> Progress:
    """A bar on a terminal, with a count, details and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.fields[count]}} {unit}"),
        TextColumn("{task.fields[details]}", markup=False),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True))


@contextmanager
def _terminal_bar() -> Iterator[Callback]:
    with _terminal_progress("evaluations") as bar:
        task = bar.add_task("sampling", total=1.0, count="0", details="")

        def show(iteration: Iteration) -> None:
            bar.update(
                task,
                completed=iteration.progress,
                count=f"{iteration.num_evals:,}",
                details=plain(describe_info(iteration)),
            )

        yield show
