"""From a run to its checkpoint, and from a checkpoint to its run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import pack
from steinbox.evaluation import Archive, Evaluator
from steinbox.run.checkpoint import Checkpoint, CheckpointError, Journal
from steinbox.run.loop import Keep, RunState
from steinbox.run.problem import Task
from steinbox.run.snapshot import Snapshot
from steinbox.samplers.base import Extendable, Sampler, State

_DIGESTS = {
    "initial": "`initial` differs: its first particles are not the same",
    "archive=": "archive= differs",
}  # what is compared by a digest, which says nothing to a person; other numbers of particles are never the same


def open_journal(checkpoint: object) -> Journal:
    """Understand ``checkpoint=``: a path, or a Checkpoint."""
    if isinstance(checkpoint, Checkpoint):
        return Journal(checkpoint)
    if isinstance(checkpoint, str | Path):
        return Journal(Checkpoint(checkpoint))
    raise TypeError(f"expected checkpoint to be a path or sb.Checkpoint(path, seconds=60), got {checkpoint!r}")


def stored_seed(asked: int | None, stored: Snapshot) -> int:
    """The checkpoint's seed; an error if another one was asked for."""
    if asked not in (None, stored.seed):
        raise CheckpointError(
            f"the checkpoint belongs to another run: seed was {stored.seed} and is {asked}. Use another file, or "
            "delete this one"
        )
    return stored.seed


def restore_run(
    stored: Snapshot,
    task: Task,
    sampler: Sampler[State],
    evaluator: Evaluator,
    rng: np.random.Generator,
    *,
    is_noisy: bool,
) -> RunState[State]:
    """The run as it was at the checkpoint; evaluator and generator are set to where they were.

    If more evaluations are allowed now and the sampler can use them, it is extended to the larger budget.
    """
    problem = describe_task(task)
    asked, before = task.problem.max_evals, stored.problem
    is_longer = isinstance(sampler, Extendable) and asked > before.get("max_evals", np.inf)
    found = differences({**before, "max_evals": asked} if is_longer else before, problem)
    if found:
        raise CheckpointError(f"the checkpoint belongs to another run: {found}. Use another file, or delete this one")
    try:
        evaluator.restore(stored.account, stored.archive, stored.unfinished, is_noisy=is_noisy)
    except ValueError as error:
        raise CheckpointError(f"the checkpoint belongs to another run: {error}") from None
    try:
        rng.bit_generator.state = stored.generator
    except (TypeError, ValueError, KeyError) as error:
        raise CheckpointError(f"the checkpoint holds no state of a random generator: {error}") from None
    if isinstance(sampler, Extendable) and is_longer:
        state = sampler.extend(stored.state, asked, rng)
        return RunState(state, stored.trace, stored.record, stored.arrivals, stored.opened)
    return RunState(stored.state, stored.trace, stored.record, stored.arrivals, stored.opened)


def checkpoint_hook(
    journal: Journal,
    task: Task,
    seed: int,
    evaluator: Evaluator,
    first: RunState[Any],
    rng: np.random.Generator,
) -> Keep:
    """What the loop calls after each iteration: it takes note of the moment, and writes when it is time.

    Between two iterations the journal hears of values that come back. A first state that no file can hold is refused
    here, before the first evaluation.
    """
    pack(first.state, {})
    problem = describe_task(task)

    def taker(run_state: RunState[Any]) -> Callable[[], Snapshot]:
        generator, account, num_done = rng.bit_generator.state, evaluator.account, len(run_state.trace)

        def take() -> Snapshot:
            is_first = account.num_archived == 0
            archive = (
                Archive.empty(task.problem.dimension) if is_first else evaluator.archive.first(account.num_archived)
            )
            trace = tuple(run_state.trace[:num_done])
            return Snapshot(
                problem,
                seed,
                generator,
                account,
                archive,
                run_state.state,
                trace,
                run_state.record,
                run_state.arrivals,
                run_state.opened,
                evaluator.values.unfinished,
            )

        return take

    journal.begin(taker(first))
    evaluator.on_values = journal.note_values
    return lambda run_state: journal.keep(taker(run_state))


def describe_task(task: Task) -> dict[str, Any]:
    """All by which a checkpoint recognizes its problem."""
    description: dict[str, Any] = {
        "names": task.names,
        "bounds": None if task.bounds is None else task.bounds.to_json(),
        "num_particles": task.problem.num_particles,
        "initial": digest(task.problem.particles),
        "noise": task.problem.noise,
    }
    if task.constants:
        description["fixed"] = task.constants
    if task.problem.is_unbiased:
        description["is_unbiased"] = True
    if task.archive is not None:
        description["archive="] = digest(task.archive.points) + digest(task.archive.log_prob)
    return description | task.config


def digest(array: Array) -> str:
    """A short name for the array's content."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """What two descriptions of a problem disagree about, in words; empty if nothing.

    Examples
    --------
    >>> differences({"seed": 1, "names": ["a"]}, {"seed": 2, "names": ("a",)})
    'seed was 1 and is 2'
    >>> differences({"num_particles": 50, "initial": "9f86"}, {"num_particles": 20, "initial": "d081"})
    'num_particles was 50 and is 20'
    """
    return "; ".join(_differences(stored, json.loads(json.dumps(asked))))


def _differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[str]:
    is_other_method = stored.get("method") != asked.get("method")
    for key in {**stored, **asked}:
        before, now = stored.get(key), asked.get(key)
        if key == "settings" and is_other_method:
            continue  # that of another method are others
        if before != now and key in _DIGESTS:
            if stored.get("num_particles") == asked.get("num_particles"):
                yield _DIGESTS[key]
        elif isinstance(before, dict) and isinstance(now, dict) and before.get("name") == now.get("name"):
            yield from (f"{key}: {each}" for each in _differences(before, now))
        elif before != now:
            yield f"{key} was {before!r} and is {now!r}"
