"""The progress bar: evaluations, temperature, effective sample size, time left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from steinbox.run.loop import Callback, Iteration


@contextmanager
def progress_bar() -> Iterator[Callback]:
    """A callback that draws the bar."""
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
                details=_details(iteration),
            )

        yield show


def _details(iteration: Iteration) -> str:
    """The parts of the iteration's information that fit on one line."""
    parts = [str(iteration.info["proposers"])] if "proposers" in iteration.info else []
    if "temperature" in iteration.info:
        parts.append(f"temperature {iteration.info['temperature']:.2f}")
    if "effective_sample_size" in iteration.info:
        parts.append(f"ess {iteration.info['effective_sample_size']:.0f}")
    return "  ".join(parts)
