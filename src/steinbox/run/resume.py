"""From a run to its checkpoint, and from a checkpoint to its run."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.serialization import pack
from steinbox.evaluation import Evaluator
from steinbox.run.checkpoint import Checkpoint, CheckpointError, Journal, NullJournal
from steinbox.run.loop import Keep, RunState
from steinbox.run.snapshot import Snapshot
from steinbox.samplers.base import Extendable, Sampler, State


def open_journal(checkpoint: object) -> Journal | NullJournal:
    """Understand ``checkpoint=``: nothing, a path, or a Checkpoint."""
    if checkpoint is None:
        return NullJournal()
    if isinstance(checkpoint, Checkpoint):
        return Journal(checkpoint)
    if isinstance(checkpoint, str | Path):
        return Journal(Checkpoint(checkpoint))
    raise TypeError(f"expected checkpoint to be a path or sb.Checkpoint(path, seconds=60), got {checkpoint!r}")


def choose_seed(asked: int | None, stored: Snapshot | None) -> int:
    """The seed that was asked for, the checkpoint's, or a new one."""
    if stored is None:
        return secrets.randbits(63) if asked is None else asked
    if asked not in (None, stored.seed):
        raise CheckpointError(f"the checkpoint is of another run: seed was {stored.seed} and is {asked}")
    return stored.seed


def restore_run(
    stored: Snapshot,
    problem: Mapping[str, Any],
    sampler: Sampler[State],
    evaluator: Evaluator,
    rng: np.random.Generator,
    *,
    is_noisy: bool,
) -> RunState[State]:
    """The run as it was at the checkpoint; evaluator and generator are set to where they were.

    If more evaluations are allowed now and the sampler can use them, it is extended to the larger budget.
    """
    asked, before = problem["max_evals"], stored.problem
    is_longer = isinstance(sampler, Extendable) and asked > before.get("max_evals", np.inf)
    found = differences({**before, "max_evals": asked} if is_longer else before, problem)
    if found:
        raise CheckpointError(f"the checkpoint is of another run: {found}. Name another file, or delete it")
    try:
        evaluator.restore(stored.account, stored.archive, is_noisy=is_noisy)
    except ValueError as error:
        raise CheckpointError(f"the checkpoint is of another run: {error}") from None
    try:
        rng.bit_generator.state = stored.generator
    except (TypeError, ValueError, KeyError) as error:
        raise CheckpointError(f"the checkpoint holds no state of a random generator: {error}") from None
    if isinstance(sampler, Extendable) and is_longer:
        return RunState(sampler.extend(stored.state, asked, rng), stored.trace)
    return RunState(stored.state, stored.trace)


def checkpoint_hook(
    journal: Journal | NullJournal,
    problem: Mapping[str, Any],
    seed: int,
    evaluator: Evaluator,
    first: RunState[Any],
    rng: np.random.Generator,
) -> Keep:
    """What the loop calls after each iteration: it takes note of the moment, and writes when it is time.

    A state that no file can hold is refused here, before the first evaluation.
    """
    if isinstance(journal, NullJournal):
        return lambda run_state: None
    pack(first.state, {})

    def keep(run_state: RunState[Any]) -> None:
        generator, account, num_done = rng.bit_generator.state, evaluator.account, len(run_state.trace)

        def take() -> Snapshot:
            archive = evaluator.archive.first(account.num_archived)
            trace = tuple(run_state.trace[:num_done])
            return Snapshot(problem, seed, generator, account, archive, run_state.state, trace)

        journal.keep(take)

    return keep


def digest(array: Array) -> str:
    """A short name for the array's content."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """What two descriptions of a problem disagree about, in words; empty if nothing.

    Examples
    --------
    >>> differences({"seed": 1, "names": ["a"]}, {"seed": 2, "names": ("a",)})
    'seed was 1 and is 2'
    """
    return "; ".join(_differences(stored, json.loads(json.dumps(asked))))


def _differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[str]:
    for key in {**stored, **asked}:
        before, now = stored.get(key), asked.get(key)
        if isinstance(before, dict) and isinstance(now, dict) and before.get("name") == now.get("name"):
            yield from (f"{key}: {each}" for each in _differences(before, now))
        elif before != now:
            yield f"{key} was {before!r} and is {now!r}"
