"""What a run tells ``logging``, under the name ``steinbox``: when it starts, resumes and ends, and its warnings."""

from __future__ import annotations

import logging

from steinbox.evaluation import Evaluator
from steinbox.run.loop import Outcome
from steinbox.run.problem import Task

LOGGER = logging.getLogger("steinbox")


def log_start(task: Task, seed: int, num_evals: int) -> None:
    """Say what was asked for, and how far the run has come if it was resumed."""
    problem, verb = task.problem, f"resumes after {num_evals:,} evaluations" if num_evals else "starts"
    LOGGER.info(
        "%s %s: %d parameters, %d particles, at most %s evaluations, seed %d",
        *(task.config["method"], verb),
        *(problem.dimension, problem.num_particles, f"{problem.max_evals:,}", seed),
    )


def log_end(task: Task, outcome: Outcome, evaluator: Evaluator, warnings: tuple[str, ...]) -> None:
    """Say why the run ended; the warnings are those of its result."""
    failed = f", {evaluator.num_failures:,} of them failed" if evaluator.num_failures else ""
    LOGGER.info(
        "%s ends after %s evaluations%s: %s", task.config["method"], f"{evaluator.num_evals:,}", failed, outcome.status
    )
    for warning in warnings:
        LOGGER.warning("%s", warning)
