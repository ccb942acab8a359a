"""From a run to its checkpoint, and from a checkpoint to its run."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.evaluation import Evaluator
from steinbox.run.checkpoint import Checkpoint, CheckpointError, Journal, NullJournal, Snapshot, differences
from steinbox.run.loop import Keep, RunState
from steinbox.samplers.base import Extendable, Sampler


def open_journal(checkpoint: object) -> Journal | NullJournal:
    """Understand ``checkpoint=``: nothing, a path, or a Checkpoint."""
    if checkpoint is None:
        return NullJournal()
    if isinstance(checkpoint, Checkpoint):
        return Journal(checkpoint)
    if isinstance(checkpoint, str | Path):
        return Journal(Checkpoint(checkpoint))
    raise TypeError(f"expected checkpoint to be a path or sb.Checkpoint(path, seconds=60), got {checkpoint!r}")


def seed_for(asked: int | None, stored: Snapshot | None) -> int:
    """The seed that was asked for, the checkpoint's, or a new one."""
    if stored is None:
        return secrets.randbits(63) if asked is None else asked
    if asked not in (None, stored.seed):
        raise CheckpointError(f"the checkpoint is of another run: seed was {stored.seed} and is {asked}")
    return stored.seed


def digest(array: Array) -> str:
    """A short name for the array's content."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def restore_run(
    stored: Snapshot,
    problem: Mapping[str, Any],
    sampler: Sampler,
    evaluator: Evaluator,
    rng: np.random.Generator,
    *,
    is_noisy: bool,
) -> RunState:
    """The journey up to the checkpoint; evaluator and generator are put where they were.

    If more evaluations are allowed now, and the sampler can do with that, the journey is to go on with these.
    """
    asked, before = problem["max_evals"], stored.problem
    is_longer = isinstance(sampler, Extendable) and asked > before.get("max_evals", np.inf)
    unlike = differences({**before, "max_evals": asked} if is_longer else before, problem)
    if unlike:
        raise CheckpointError(f"the checkpoint is of another run: {unlike}. Name another file, or delete it")
    try:
        evaluator.restore(stored.account, stored.archive, is_noisy=is_noisy)
    except ValueError as error:
        raise CheckpointError(f"the checkpoint is of another run: {error}") from None
    try:
        rng.bit_generator.state = stored.generator
    except (TypeError, ValueError, KeyError) as error:
        raise CheckpointError(f"the checkpoint holds no state of a random generator: {error}") from None
    if isinstance(sampler, Extendable) and is_longer:
        return RunState(sampler.extended(stored.state, asked, rng), stored.trace)
    return RunState(stored.state, stored.trace)


def checkpoint_hook(
    journal: Journal | NullJournal,
    problem: Mapping[str, Any],
    seed: int,
    evaluator: Evaluator,
    rng: np.random.Generator,
) -> Keep:
    """What the loop calls after each iteration: it notes the moment, and writes when it is time."""
    if isinstance(journal, NullJournal):
        return lambda journey: None

    def keep(journey: RunState) -> None:
        generator, account, num_done = rng.bit_generator.state, evaluator.account, len(journey.trace)

        def take() -> Snapshot:
            archive = evaluator.archive.first(account.num_archived)
            return Snapshot(problem, seed, generator, account, archive, journey.state, tuple(journey.trace[:num_done]))

        journal.keep(take)

    return keep
