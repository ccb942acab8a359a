"""The progress bar: evaluations, temperature, effective sample size, time left; in a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from steinbox.run.loop import Callback, Iteration
from steinbox.run.notebook import describe_info, in_notebook, notebook_bar


def wants_progress(asked: bool | None) -> bool:
    """Whether to show a bar: as asked, or if somebody is looking."""
    return (sys.stderr.isatty() or in_notebook()) if asked is None else asked


def progress_bar() -> AbstractContextManager[Callback]:
    """A callback that draws the bar where it is seen."""
    return notebook_bar() if in_notebook() else _terminal_bar()


@contextmanager
def _terminal_bar() -> Iterator[Callback]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[evals]} evaluations"),
        TextColumn("{task.fields[details]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("sampling", total=1.0, evals="0", details="")

        def show(iteration: Iteration) -> None:
            bar.update(
                task,
                completed=iteration.progress,
                evals=f"{iteration.num_evals:,}",
                details=describe_info(iteration),
            )

        yield show
