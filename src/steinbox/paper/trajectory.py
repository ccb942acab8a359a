"""A run of a sampler, measured at several iterations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from steinbox.common.arrays import Array, IntegerArray
from steinbox.paper.table import Row, Table, Task
from steinbox.run.checkpoint import Checkpoint
from steinbox.run.loop import Iteration
from steinbox.run.status import Status
from steinbox.sample import sample
from steinbox.samplers import Method

Measure: TypeAlias = Callable[[Array, Array], Mapping[str, float]]
"""Metrics of points and their weights."""

_SECONDS_BETWEEN_CHECKPOINTS = 60.0  # of a long run
_FAILED_STATUSES = (Status.CALLBACK_FAILED, Status.TARGET_FAILED, Status.TOO_MANY_FAILURES, Status.WORKERS_LOST)


def iterations_to_measure(num_iterations: int, num_points: int = 14) -> IntegerArray:
    """Iterations evenly spaced in the logarithm; the last is one of them.

    Examples
    --------
    >>> iterations_to_measure(100, num_points=3)
    array([  1,  10, 100])
    """
    return np.unique(np.geomspace(1, num_iterations, num_points).round().astype(np.int64))


def trajectory(
    task: Task,
    method: Method[Any],
    log_prob: Callable[[Array], Array],
    initial: object,
    measure: Measure,
    *,
    score: Callable[[Array], Array] | None = None,
    watch: bool = True,
    burn_in: int = 0,
    batches_per_iteration: int = 1,
    sizes: Sequence[int] = (),
    max_evals: int | None = None,
    checkpoint: Path | None = None,
) -> list[Row]:
    """All metrics at the end of a run and, if ``watch``, the first of them at several iterations.

    Iterations are counted from the end of the burn-in; each has as many batches as it takes to move all particles. The
    first ``sizes`` particles are also measured by themselves at the end: once a proposal is learned, chains are
    independent of each other. A long run is kept in the file ``checkpoint`` until it is finished: if it is killed it
    continues from there, and its seconds count from then. A method that cannot continue, or whose particles have left
    the support, ends with those that it has.
    """
    rows_path = None if checkpoint is None else checkpoint.with_suffix(".rows")
    recorder = _Recorder(task, measure, burn_in, batches_per_iteration, watch, rows_path)
    result = sample(
        log_prob,
        initial,
        num_particles=task.num_particles,
        method=method,
        vectorized=True,
        score=score,
        seed=task.seed,
        progress=False,
        callback=recorder,
        max_evals=max_evals,
        checkpoint=None if checkpoint is None else Checkpoint(checkpoint, seconds=_SECONDS_BETWEEN_CHECKPOINTS),
    )
    if result.status is Status.INTERRUPTED:  # otherwise half a run would count as one
        raise KeyboardInterrupt
    if result.status in _FAILED_STATUSES:
        raise RuntimeError(f"{task} could not be measured: {result.status} {' '.join(result.warnings)}")
    last = recorder.seconds()
    iteration = task.num_iterations
    rows = [row for row in recorder.rows if row.iteration < iteration]
    for size in (*sizes, task.num_particles):
        weights = result.weights[:size] if size < task.num_particles else result.weights
        points = result.particles[: len(weights)]
        rows += make_rows(task, size, iteration, result.num_evals, last, measure(points, weights / weights.sum()))
    if checkpoint is not None:
        for each in checkpoint.parent.glob(f"{checkpoint.stem}.*"):
            each.unlink()
    return rows


def exact_rows(task: Task, draws: Array, measure: Measure) -> list[Row]:
    """The rows of exact draws."""
    metrics = measure(draws, np.full(len(draws), 1 / len(draws)))
    return make_rows(task, len(draws), task.num_iterations, len(draws), 0.0, metrics)


def make_rows(
    task: Task, size: int, iteration: int, num_evals: int, seconds: float, metrics: Mapping[str, float]
) -> list[Row]:
    """A row for every metric."""
    return [
        Row(
            task.method,
            task.setting,
            task.num_particles,
            task.num_iterations,
            task.seed,
            size,
            iteration,
            num_evals,
            metric,
            value,
            round(seconds, 2),
        )
        for metric, value in metrics.items()
    ]


class _Recorder:
    """A callback that measures the particles at some iterations, and the time of the run without that."""

    def __init__(
        self, task: Task, measure: Measure, burn_in: int, batches: int, watch: bool, path: Path | None
    ) -> None:
        self.task, self.measure, self.burn_in, self.batches, self.path = task, measure, burn_in, batches, path
        self.rows: list[Row] = [] if path is None else list(Table.read(path))
        wanted = set(iterations_to_measure(task.num_iterations).tolist()) if watch else set()
        self.iterations = wanted - {row.iteration for row in self.rows}
        self.start, self.measuring = time.perf_counter(), 0.0

    def seconds(self) -> float:
        return time.perf_counter() - self.start - self.measuring

    def __call__(self, iteration: Iteration) -> None:
        number, rest = divmod(iteration.index - self.burn_in, self.batches)
        if rest or number not in self.iterations:
            return
        seconds, pause = self.seconds(), time.perf_counter()
        sample = iteration.sample
        first = dict([next(iter(self.measure(sample.particles, sample.weights).items()))])
        self.rows += make_rows(self.task, self.task.num_particles, number, iteration.num_evals, seconds, first)
        if self.path is not None:
            Table(self.rows).write(self.path)
        self.measuring += time.perf_counter() - pause
